-- name: turn
-- Two applications that register one pipeline at the same moment have to see each other. Until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('penstock.stages ' || $1, 0))

-- name: register
-- What the code declares. Position, attempts and policy follow the code; limit and pause belong to people
-- unless the code sets a limit.
insert into penstock.stages as s (pipeline, name, position, max_attempts, max_running, policy, application)
select $1, d.name, d.position, d.max_attempts, d.max_running, d.policy::jsonb, $7
from unnest($2::text[], $3::smallint[], $4::smallint[], $5::integer[], $6::text[])
    as d (name, position, max_attempts, max_running, policy)
on conflict (pipeline, name) do update
set position = excluded.position, max_attempts = excluded.max_attempts, policy = excluded.policy,
    max_running = coalesce(excluded.max_running, s.max_running), application = excluded.application,
    registered_at = now()

-- name: registered
-- Read first: an unchanged declaration writes nothing.
select id, name, position, max_attempts, max_running, policy::text as policy, application
from penstock.stages where pipeline = $1 order by position

-- name: ids
-- For a process that runs nothing: what others registered.
select id, pipeline, name, application from penstock.stages where pipeline = any ($1::text[])

-- name: applications
-- Which pipelines belong to which application, for the sentence that says so.
select distinct application, pipeline from penstock.stages where application is not null order by application, pipeline

-- name: transfer
-- To an application that was renamed, or that took over the task. Waits for whoever registers them at this moment.
update penstock.stages set application = $2 where application = $1 and pipeline = any ($3::text[]) returning pipeline

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
