-- Where a run stands in the engine.

-- name: left_of_job
-- Unfinished tasks of a run by what they do, and entities of its source that nobody has fetched yet.
select count(*) filter (where l.pipeline = 'linking.search')::integer as searches,
       count(*) filter (where l.pipeline = 'linking.fetch')::integer as fetches,
       count(*) filter (where l.pipeline = 'linking.score')::integer as scores,
       -- In two parts, each of which has an index: entities are hundreds of thousands.
       exists (select from record_linking.projects p join record_linking.entities e
               on e.source = p.source and e.fetched_at is null and e.batch is null where p.job_id = $1)
       or exists (select from record_linking.projects p join record_linking.entities e
                  on e.source = p.source and e.fetched_at is null and e.batch is not null where p.job_id = $1) as wanted
from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
join penstock.queue q on q.stage = s.id and q.lane = l.id
where l.job_id = $1 and l.cancelled_at is null

-- name: ended_lately
-- Searches and fetches that ended in the last $2 seconds, for the rate.
select count(*)::integer from penstock.outcomes o join penstock.stages s on s.id = o.stage
where o.job_id = $1 and o.status = any (array[2, 3]::smallint[])
  and o.finished_at > now() - $2::double precision * interval '1 second'
  and s.pipeline in ('linking.search', 'linking.fetch')

-- name: ended
-- Searches and fetches of a run that ended, from the kept counters.
select coalesce(sum(c.n), 0)::bigint from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
join penstock.counts c on c.lane = l.id and c.stage = s.id and c.state in (2, 3)
where l.job_id = $1 and l.pipeline in ('linking.search', 'linking.fetch')

-- name: retrying
-- Searches and fetches of a run that failed and wait for their next try: how many, when the next one is, and what the one
-- that failed last said.
with waiting as materialized (
    select q.task_id, q.run_at, q.updated_at from penstock.lanes l
    join penstock.stages s on s.pipeline = l.pipeline
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null and q.attempt > 0
    where l.job_id = $1 and l.cancelled_at is null and l.pipeline in ('linking.search', 'linking.fetch')
)
select count(*)::integer as count,
       greatest(extract(epoch from min(run_at) - clock_timestamp()), 0)::double precision as next_seconds,
       (select a.error ->> 'message' from penstock.attempts a
        where a.task_id = (select task_id from waiting order by updated_at desc, task_id desc limit 1)
        order by a.at desc limit 1) as error
from waiting

-- name: serving
-- Whether people paused the stage, and whether a live worker serves it.
select s.paused_at is not null as paused, exists (
    select from penstock.workers w
    where s.id = any (w.stages) and w.stopped_at is null and w.died_at is null and w.lease_until >= now()) as served
from penstock.stages s where s.pipeline = $1 order by s.position limit 1

-- name: paused
-- Whether people paused the job.
select paused_at is not null from penstock.jobs where id = $1

-- name: budget
-- What the source may be asked, and what holds it up right now.
select rate, extract(epoch from greatest(blocked_until, at) - at)::double precision as blocked_seconds,
       case when blocked_until > at then blocked_reason end as blocked_reason
from penstock.limits, clock_timestamp() as at where key = $1

-- name: abandoned
-- Runs that nothing works on any more: their watch was cancelled with the job, or ran out of attempts. $1 null: any.
select p.id from record_linking.projects p
where ($1::bigint is null or p.id = $1) and p.started_at is not null and p.ended_at is null and p.deleted_at is null
  and not exists (
    select from penstock.jobs j
    join penstock.lanes l on l.job_id = j.id and l.cancelled_at is null
    join penstock.stages s on s.pipeline = l.pipeline
    join penstock.queue q on q.stage = s.id and q.lane = l.id
    where j.id = p.job_id and j.cancelled_at is null)
order by p.id limit $2

-- name: cancelled
-- Whether people cancelled the job, or deleted it.
select not exists (select from penstock.jobs where id = $1 and cancelled_at is null)
