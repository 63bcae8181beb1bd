-- name: create
-- A taken name is a named answer, not an error.
insert into penstock.sources (name, kind, place, pattern, owner, pipeline, options, after, target, stable_seconds,
                              user_env, secret_env, enabled, created_by)
values ($1, $2, $3::text::jsonb, $4, $5, $6, $7::text::jsonb, $8, $9, $10, $11, $12, $13, $14)
on conflict (name) do nothing
returning id

-- name: get
-- JSON as text: the driver's own decoding is not the one the rest uses.
select id, name, kind, place::text as place, pattern, owner, pipeline, options::text as options, after, target,
       stable_seconds, user_env, secret_env, enabled, created_by, created_at, scanned_at, problem
from penstock.sources where name = $1

-- name: page
-- By name, which never changes; without an owner everybody's.
select id, name, kind, place::text as place, pattern, owner, pipeline, options::text as options, after, target,
       stable_seconds, user_env, secret_env, enabled, created_by, created_at, scanned_at, problem
from penstock.sources
where ($1::text is null or owner = $1) and name > $2
order by name
limit $3

-- name: delete
-- What was seen there goes with it; jobs stay.
delete from penstock.sources where name = $1 returning id

-- name: next_scan
-- Numbers scans, so that one that was cut cannot pass for one that saw everything.
update penstock.sources set scans = scans + 1 where id = $1 returning scans

-- name: scanned
-- What people see about the last scan. A listing that was cut keeps the time of the last whole one.
update penstock.sources
set problem = $2, scanned_at = case when $3::boolean then now() else scanned_at end
where id = $1

-- name: pipeline_known
-- A source for a pipeline that nobody declared would only collect failures.
select exists (select from penstock.stage_load where pipeline = $1)
