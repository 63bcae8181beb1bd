-- The read side, apart from the hot path. Lists are keyset pages: `$1…` is the position behind which a page starts,
-- and a list that filters looks at a bounded window of rows, so that no filter makes a page slow.

-- name: newest
-- Newest tasks first. $2 bounds how many rows are looked at, $5 how many are returned.
with seen as materialized (
    select id, entry, owner from penstock.tasks where id < $1 order by id desc limit $2
), matching as (
    select id from seen
    where ($3::text is null or entry in (select s.id from penstock.stages s where s.pipeline = $3))
      and ($4::text is null or owner = $4)
    order by id desc limit $5
)
-- The window's own end comes with every row, so that a page without a match can still go on.
select b.looked, b.last_id, m.id as task_id
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_of_job
-- The same inside a job, over its own index.
with seen as materialized (
    select id, entry, owner from penstock.tasks where job_id = $6 and id < $1 order by id desc limit $2
), matching as (
    select id from seen
    where ($3::text is null or entry in (select s.id from penstock.stages s where s.pipeline = $3))
      and ($4::text is null or owner = $4)
    order by id desc limit $5
)
select b.looked, b.last_id, m.id as task_id
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: waiting
-- In the order they become due: the front of every (stage, lane) pair behind the position, merged.
select q.task_id, q.run_at as at
from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
cross join lateral (
    select task_id, run_at from penstock.queue
    where stage = s.id and lane = l.id and worker is null and (run_at, task_id) > ($1, $2)
    order by run_at, task_id limit $3) q
where l.active and l.cancelled_at is null
  and ($4::text is null or l.pipeline = $4) and ($5::bigint is null or l.job_id = $5)
  and ($6::text is null or l.owner = $6)
order by q.run_at, q.task_id limit $3

-- name: running
-- Leased rows are never more than the fleet can hold, so they are sorted as they are.
select q.task_id
from penstock.queue q
join penstock.lanes l on l.id = q.lane
where q.worker is not null and q.task_id < $1
  and ($3::text is null or l.pipeline = $3) and ($4::bigint is null or l.job_id = $4)
  and ($5::text is null or l.owner = $5)
order by q.task_id desc limit $2

-- name: finished_of_job
-- A job's endings of one state, newest first.
select task_id, finished_at as at from penstock.outcomes
where job_id = $1 and status = $2 and (finished_at, task_id) < ($3, $4)
order by finished_at desc, task_id desc limit $5

-- name: finished
-- Endings of one state over all jobs, newest task first, in a bounded window.
with seen as materialized (
    select task_id, status, stage from penstock.outcomes where task_id < $1 order by task_id desc limit $2
), matching as (
    select task_id from seen
    where status = $6
      and ($3::text is null or stage in (select s.id from penstock.stages s where s.pipeline = $3))
      and ($4::text is null or (select t.owner from penstock.tasks t where t.id = seen.task_id) = $4)
    order by task_id desc limit $5
)
select b.looked, b.last_id, m.task_id
from (select count(*) as looked, min(task_id) as last_id from seen) b left join matching m on true
order by m.task_id desc nulls last

-- name: task_rows
-- The rows of a page by their ids: a short piece of the input instead of all of it.
select s.task_id, s.job_id, s.owner, s.pipeline, s.stage, s.state, s.attempts, s.max_attempts, s.run, s.worker,
       s.run_at, s.updated_at, s.created_at, left(s.input::text, 160) as input_summary,
       s.error ->> 'type' as error_type, left(s.error ->> 'message', 300) as error_message, now() as read_at
from penstock.task_states s
where s.task_id = any ($1::bigint[])

-- name: stage_load
-- Waiting and running per stage from the counters of lanes that may hold something, and the oldest due row that
-- could run: one probe per stage and active lane.
select s.id, s.pipeline, s.name, s.position, s.max_running, s.max_attempts, s.paused_at, s.paused_by, s.pause_reason,
       s.policy::text as policy, s.application,
       coalesce(c.arrived, 0)::bigint as present, coalesce(q.leased, 0) as running, w.oldest_at, w.next_at,
       w.held, now() as read_at
from penstock.stages s
left join (
    select c.stage, sum(case c.state when 0 then c.n else -c.n end) as arrived
    from penstock.lanes l join penstock.counts c on c.lane = l.id
    where l.active and l.cancelled_at is null group by c.stage) c on c.stage = s.id
left join (
    select stage, count(*) as leased from penstock.queue where worker is not null group by stage) q on q.stage = s.id
left join lateral (
    select min(front.run_at) filter (where l.paused_at is null and front.run_at <= now()) as oldest_at,
           min(front.run_at) filter (where l.paused_at is null) as next_at,
           count(*) filter (where l.paused_at is not null and front.run_at is not null) as held
    from penstock.lanes l
    left join lateral (
        select run_at from penstock.queue
        where stage = s.id and lane = l.id and worker is null order by run_at, task_id limit 1) front on true
    where l.pipeline = s.pipeline and l.active and l.cancelled_at is null) w on true
order by s.pipeline, s.position

-- name: stage_rates
-- What moved lately, per stage. The first window is the last full minute and the running one; the counts of a replay
-- are taken back, so a sum can be below zero.
select stage,
       coalesce(sum(n) filter (where state between 2 and 7 and minute >= date_trunc('minute', now()) - interval '1 minute'), 0)
           / (60 + extract(epoch from now() - date_trunc('minute', now())))::float8 as ended_per_second,
       coalesce(sum(n) filter (where state = 0 and minute >= date_trunc('minute', now()) - interval '1 minute'), 0)
           / (60 + extract(epoch from now() - date_trunc('minute', now())))::float8 as arrived_per_second,
       coalesce(sum(n) filter (where state between 2 and 6), 0)::bigint as ended_last_hour,
       greatest(coalesce(sum(n) filter (where state = 3), 0), 0)::bigint as failed_last_hour,
       coalesce(sum(n) filter (where state in (2, 7)), 0)::bigint as went_well_last_hour,
       coalesce(sum(n) filter (where state in (2, 3, 4, 5, 7)), 0)::bigint as left_last_hour,
       -- What runners measured: see sql/statistics.sql.
       coalesce(sum(n) filter (where state = 20), 0)::bigint as runs_last_hour,
       coalesce(sum(n) filter (where state = 21), 0)::bigint as retries_last_hour,
       (coalesce(sum(n) filter (where state = 22), 0) / nullif(sum(n) filter (where state = 20), 0) / 1000)::float8
           as mean_run_seconds,
       (coalesce(sum(n) filter (where state = 22 and minute >= date_trunc('minute', now()) - interval '1 minute'), 0)
           / nullif(sum(n) filter (where state = 20 and minute >= date_trunc('minute', now()) - interval '1 minute'), 0)
           / 1000)::float8 as mean_run_seconds_last_minute
from penstock.statistics where minute >= now() - interval '1 hour' and state < 30
group by stage

-- name: lanes
-- Lanes by id, newest first, with what they hold from the counters.
select l.id, l.pipeline, l.key, l.priority, l.job_id, l.owner, l.weight, l.max_running, l.active, l.paused_at,
       l.paused_by, l.pause_reason, l.cancelled_at, l.cancelled_by, l.opened_at,
       greatest(c.present - q.running, 0) as waiting, q.running, now() as read_at
from penstock.lanes l
cross join lateral (
    select coalesce(sum(case state when 0 then n else -n end), 0)::bigint as present
    from penstock.counts where lane = l.id) c
cross join lateral (
    select count(*) as running from penstock.stages s
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where s.pipeline = l.pipeline) q
where l.id < $1 and ($2 or l.active) and ($3::text is null or l.pipeline = $3)
order by l.id desc limit $4

-- name: waiting_in_lane
-- What a cancel of a lane (all its priorities) would end, from the counters less what is leased. No row: no such lane.
select greatest(sum(c.present) - sum(q.running), 0)::bigint as waiting
from penstock.lanes l
cross join lateral (
    select coalesce(sum(case state when 0 then n else -n end), 0) as present from penstock.counts where lane = l.id) c
cross join lateral (
    select count(*) as running from penstock.stages s
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where s.pipeline = l.pipeline) q
where l.pipeline = $1 and l.key = $2 and l.cancelled_at is null and l.job_id is null
having count(*) > 0

-- name: job_movements
-- The states and the counts of several jobs at once.
select job_id, state, importing, total, pending, processing, done, error, not_found, skipped, cancelled
from penstock.job_states where job_id = any ($1::bigint[])

-- name: job_steps
-- Where the tasks of one job are, stage by stage, from the counters; only leased rows are counted.
select s.name, s.position, coalesce(sum(c.present), 0)::bigint as present, coalesce(sum(c.well), 0)::bigint as well,
       coalesce(sum(c.error), 0)::bigint as error, coalesce(sum(c.cancelled), 0)::bigint as cancelled,
       coalesce(sum(q.running), 0)::bigint as running
from penstock.jobs j
join penstock.stages s on s.pipeline = j.pipeline
left join penstock.lanes l on l.job_id = j.id
cross join lateral (
    select sum(case state when 0 then n else -n end) as present, sum(n) filter (where state in (2, 4, 5)) as well,
           sum(n) filter (where state = 3) as error, sum(n) filter (where state = 6) as cancelled
    from penstock.counts where lane = l.id and stage = s.id) c
cross join lateral (
    select count(*) as running from penstock.queue where stage = s.id and lane = l.id and worker is not null) q
where j.id = $1
group by s.id
order by s.position, s.id

-- name: job_ended_lately
-- How many of a job's tasks ended in the last minute, for its ETA; counts an index range, never more than $2 a state.
select coalesce(sum(n), 0)::bigint as ended
from unnest(array[2, 3, 4, 5]::smallint[]) as k (status)
cross join lateral (
    select count(*) as n from (
        select from penstock.outcomes
        where job_id = $1 and status = k.status and finished_at > now() - interval '1 minute' limit $2) ended) e

-- name: position
-- Everything that decides why one task does not run, in one row.
select now() as read_at, t.id as task_id, t.job_id, q.task_id is not null as queued, q.run_at, q.attempt, q.max_attempts,
       q.updated_at, q.cancel_at, q.worker, q.sent_at, o.status, o.finished_at, o.error ->> 'type' as error_type,
       o.error ->> 'message' as error_message,
       s.id as stage, s.pipeline, s.name as stage_name, s.max_running as stage_limit, s.paused_at as stage_paused_at,
       s.paused_by as stage_paused_by, s.pause_reason as stage_pause_reason,
       l.id as lane, l.key as lane_key, l.priority, l.max_running as lane_limit, l.job_id as lane_job,
       l.paused_at as lane_paused_at, l.paused_by as lane_paused_by, l.pause_reason as lane_pause_reason,
       l.cancelled_at as lane_cancelled_at, l.cancelled_by as lane_cancelled_by,
       w.name as worker_name, w.lease_until, w.stopped_at, w.died_at,
       a.cause, a.next_run_at, aw.name as cause_worker, a.error ->> 'type' as cause_type, a.error ->> 'message' as cause_message,
       a.error ->> 'key' as limit_key, nullif(x.blocked_until, '-infinity') as blocked_until, x.blocked_reason
from penstock.tasks t
left join penstock.queue q on q.task_id = t.id
left join penstock.outcomes o on o.task_id = t.id
left join penstock.stages s on s.id = coalesce(q.stage, o.stage)
left join penstock.lanes l on l.id = coalesce(q.lane, o.lane)
left join penstock.workers w on w.id = coalesce(q.worker, o.worker)
left join lateral (
    -- The last event of its history says what it waits for.
    select cause, next_run_at, error, worker from penstock.attempts
    where task_id = t.id order by at desc limit 1) a on true
left join penstock.workers aw on aw.id = a.worker
left join penstock.limits x on x.key = a.error ->> 'key'
where t.id = $1

-- name: servers_of_stage
-- Who could take it: live workers with their processors, or the one that served the stage last.
select id, name, heartbeat_at, status::text as status,
       stopped_at is null and died_at is null and lease_until >= now() as live
from penstock.workers where $1 = any (stages)
order by live desc, heartbeat_at desc limit 100

-- name: leased_of_stage
select count(*) from penstock.queue where stage = $1 and worker is not null

-- name: leased_of_lane
-- A lane's limit counts all stages of its pipeline.
select count(*) from penstock.stages s
join penstock.queue q on q.stage = s.id and q.lane = $2 and q.worker is not null
where s.pipeline = $1

-- name: ahead_in_lane
-- Counted up to $5 only: beyond that nobody needs the exact number.
select count(*) from (
    select from penstock.queue
    where stage = $1 and lane = $2 and worker is null and (run_at, task_id) < ($3, $4) limit $5) ahead

-- name: ahead_by_priority
-- Waiting in the stage in lanes that go first, from the counters, and how many lanes take turns with this one.
select coalesce(sum(c.present) filter (where l.priority < $2), 0)::bigint as ahead,
       count(*) filter (where l.priority = $2 and c.present > 0) as turns
from penstock.lanes l
cross join lateral (
    select sum(case state when 0 then n else -n end) as present
    from penstock.counts where lane = l.id and stage = $1) c
where l.pipeline = $3 and l.active and l.cancelled_at is null and l.paused_at is null and l.priority <= $2

-- name: pipelines
select distinct pipeline from penstock.stages order by pipeline

-- name: skewed
-- Stages with tasks that wait for a worker of another release for longer than so many seconds, and the oldest of each.
-- Looks at the newest 1,000 releases of the last hour: a wait lasts at most 15 minutes, so older ones are over.
select s.pipeline, s.name, count(*) as n, min(f.since) as since, now() as read_at,
       (array_agg(a.task_id order by f.since))[1] as task_id,
       (array_agg(a.error ->> 'message' order by f.since))[1] as problem
from (
    select task_id, run, next_run_at, error from penstock.attempts
    where cause = 'version skew' and at > now() - interval '1 hour' order by at desc limit 1000) a
join penstock.queue q on q.task_id = a.task_id and q.run_at = a.next_run_at and q.worker is null
join penstock.stages s on s.id = q.stage
cross join lateral (
    select min(at) as since from penstock.attempts
    where task_id = a.task_id and run = a.run and cause = 'version skew') f
where f.since < now() - $1 * interval '1 second'
group by s.pipeline, s.name order by since

-- name: stages_without_worker
-- Stages that hold waiting rows although nobody lives who serves them.
select s.id, s.pipeline, s.name from penstock.stages s
where not exists (
    select from penstock.workers w
    where s.id = any (w.stages) and w.stopped_at is null and w.died_at is null and w.lease_until >= now())
  and exists (
    select from penstock.lanes l
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null
    where l.pipeline = s.pipeline and l.active and l.cancelled_at is null)
order by s.pipeline, s.position
