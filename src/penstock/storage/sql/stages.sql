-- name: register
-- What the code declares. Position, attempts and policy follow the code; limit and pause belong to people
-- unless the code sets a limit.
insert into penstock.stages as s (pipeline, name, position, max_attempts, max_running, policy)
select $1, d.name, d.position, d.max_attempts, d.max_running, d.policy::jsonb
from unnest($2::text[], $3::smallint[], $4::smallint[], $5::integer[], $6::text[])
    as d (name, position, max_attempts, max_running, policy)
on conflict (pipeline, name) do update
set position = excluded.position, max_attempts = excluded.max_attempts, policy = excluded.policy,
    max_running = coalesce(excluded.max_running, s.max_running), registered_at = now()

-- name: registered
-- Read first: an unchanged declaration writes nothing.
select id, name, position, max_attempts, max_running, policy::text as policy
from penstock.stages where pipeline = $1 order by position

-- name: list
select id, pipeline, name, position, max_attempts, max_running, policy::text as policy, paused_at, paused_by, pause_reason
from penstock.stages order by pipeline, position

-- name: pause
update penstock.stages set paused_at = coalesce(paused_at, now()), paused_by = $3, pause_reason = $4
where pipeline = $1 and ($2::text is null or name = $2) returning id

-- name: resume
update penstock.stages set paused_at = null, paused_by = null, pause_reason = null
where pipeline = $1 and ($2::text is null or name = $2) returning id

-- name: limit
update penstock.stages set max_running = $3 where pipeline = $1 and ($2::text is null or name = $2) returning id

-- name: limits
select id, pipeline, max_running, paused_at is not null as paused from penstock.stages
