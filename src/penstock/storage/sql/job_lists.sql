-- Pages of jobs are newest first, below $1. The index decides which jobs are looked at, $2 how many; the other filters
-- ($4 pipeline, $5 a pattern for the names of job and file, $6 paused, $7 cancelled) choose at most $3 of them, so that
-- no filter makes a page slow. The end of the window comes with every row, so that a page without a match can go on.

-- name: newest
-- Everybody's, over the primary key.
with seen as materialized (
    select id, pipeline, name, owner, metadata, paused_at, paused_by, pause_reason, cancelled_at, cancelled_by, created_at
    from penstock.jobs where id < $1 and deleted_at is null order by id desc limit $2
), matching as (
    select * from seen
    where ($4::text is null or pipeline = $4)
      and ($5::text is null or name ilike $5 or metadata ->> 'file_name' ilike $5)
      and ($6::boolean is null or (paused_at is not null) = $6)
      and ($7::boolean is null or (cancelled_at is not null) = $7)
    order by id desc limit $3
)
select b.looked, b.last_id, m.id, m.pipeline, m.name, m.owner, m.metadata::text as metadata, m.paused_at, m.paused_by,
       m.pause_reason, m.cancelled_at, m.cancelled_by, m.created_at
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_of_owner
-- Those of $8, over their index.
with seen as materialized (
    select id, pipeline, name, owner, metadata, paused_at, paused_by, pause_reason, cancelled_at, cancelled_by, created_at
    from penstock.jobs where owner = $8 and id < $1 and deleted_at is null order by id desc limit $2
), matching as (
    select * from seen
    where ($4::text is null or pipeline = $4)
      and ($5::text is null or name ilike $5 or metadata ->> 'file_name' ilike $5)
      and ($6::boolean is null or (paused_at is not null) = $6)
      and ($7::boolean is null or (cancelled_at is not null) = $7)
    order by id desc limit $3
)
select b.looked, b.last_id, m.id, m.pipeline, m.name, m.owner, m.metadata::text as metadata, m.paused_at, m.paused_by,
       m.pause_reason, m.cancelled_at, m.cancelled_by, m.created_at
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: paces
-- How many tasks of these jobs end in a second, by the last minute. Of each state at most $2 endings are looked at; a
-- job that is quicker than that is judged by the time these took.
select j.id as job_id, sum(e.n / case when e.n < $2
           then least(60, greatest(extract(epoch from now() - j.created_at), 1))
           else greatest(extract(epoch from now() - e.first_at), 0.2) end)::float8 as per_second
from penstock.jobs j
cross join unnest(array[2, 3, 4, 5]::smallint[]) as k (status)
cross join lateral (
    select count(*) as n, min(finished_at) as first_at from (
        select finished_at from penstock.outcomes
        where job_id = j.id and status = k.status and finished_at > now() - interval '1 minute'
        order by finished_at desc limit $2) newest) e
where j.id = any ($1::bigint[])
group by j.id

-- name: heads
-- Of every stage in which tasks of these jobs wait: the stage, the first in line, and what its last try met.
select l.job_id, s.id as stage, s.pipeline, s.name, s.position, s.max_running, s.paused_at, s.paused_by, s.pause_reason,
       q.run_at, q.attempt, q.max_attempts, a.cause, a.error ->> 'key' as limit_key, x.rate,
       nullif(x.blocked_until, '-infinity') as blocked_until,
       x.blocked_reason
from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
cross join lateral (
    select task_id, run_at, attempt, max_attempts from penstock.queue
    where stage = s.id and lane = l.id and worker is null
    order by run_at, task_id limit 1) q
left join lateral (
    select cause, error from penstock.attempts where task_id = q.task_id order by at desc limit 1) a on true
left join penstock.limits x on x.key = a.error ->> 'key'
where l.job_id = any ($1::bigint[]) and l.cancelled_at is null
order by l.job_id, s.position, q.run_at

-- name: ends
-- When its first and its last task that stands as ended did so: the two ends of an index range per state.
select min(e.first_at) as first_at, max(e.last_at) as last_at
from unnest(array[2, 3, 4, 5, 6]::smallint[]) as k (status)
cross join lateral (
    select (select finished_at from penstock.outcomes where job_id = $1 and status = k.status
            order by finished_at limit 1) as first_at,
           (select finished_at from penstock.outcomes where job_id = $1 and status = k.status
            order by finished_at desc limit 1) as last_at) e

-- name: minutes
-- The newest endings of a job per minute, from its index: of each state at most $2 are looked at. `cut_at`: in one
-- state there were more, and before this time they were not counted.
with newest as materialized (
    select k.status, e.finished_at, row_number() over (partition by k.status order by e.finished_at desc) as place
    from unnest(array[2, 3, 4, 5]::smallint[]) as k (status)
    cross join lateral (
        select finished_at from penstock.outcomes where job_id = $1 and status = k.status
        order by finished_at desc limit $2) e
), cut as (
    -- The minute of the oldest one is not whole.
    select max(date_trunc('minute', finished_at)) + interval '1 minute' as at from newest where place = $2
)
select date_trunc('minute', finished_at) as minute, count(*) filter (where status <> 3) as done,
       count(*) filter (where status = 3) as failed, (select at from cut) as cut_at
from newest
where (select at from cut) is null or finished_at >= (select at from cut)
group by 1 order by 1
