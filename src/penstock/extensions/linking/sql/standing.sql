-- Where a run stands in the engine.

-- name: left_of_job
-- Unfinished tasks of a run by what they do, and entities of its source that nobody has fetched yet.
select count(*) filter (where pipeline = 'linking.search')::integer as searches,
       count(*) filter (where pipeline = 'linking.fetch')::integer as fetches,
       count(*) filter (where pipeline = 'linking.score')::integer as scores,
       -- In two parts, each of which has an index: entities are hundreds of thousands.
       exists (select from record_linking.projects p join record_linking.entities e
               on e.source = p.source and e.fetched_at is null and e.batch is null where p.job_id = $1)
       or exists (select from record_linking.projects p join record_linking.entities e
                  on e.source = p.source and e.fetched_at is null and e.batch is not null where p.job_id = $1) as wanted
from penstock.queued_tasks where job_id = $1 and not cancelled

-- name: ended_lately
-- Searches and fetches that ended in the last $2 seconds, for the rate.
select count(*)::integer from penstock.task_outcomes
where job_id = $1 and status = any (array[2, 3]::smallint[])
  and finished_at > now() - $2::double precision * interval '1 second'
  and pipeline in ('linking.search', 'linking.fetch')

-- name: ended
-- Searches and fetches of a run that ended, from the kept counters.
select coalesce(sum(ended), 0)::bigint from penstock.task_counts
where job_id = $1 and pipeline in ('linking.search', 'linking.fetch') and status in (2, 3)

-- name: retrying
-- Searches and fetches of a run that failed and wait for their next try: how many, when the next one is, and what the one
-- that failed last said.
with waiting as materialized (
    select task_id, run_at, updated_at from penstock.queued_tasks
    where job_id = $1 and not running and not cancelled and attempts > 0
      and pipeline in ('linking.search', 'linking.fetch')
)
select count(*)::integer as count,
       greatest(extract(epoch from min(run_at) - clock_timestamp()), 0)::double precision as next_seconds,
       (select a.error ->> 'message' from penstock.task_history a
        where a.task_id = (select task_id from waiting order by updated_at desc, task_id desc limit 1)
        order by a.at desc limit 1) as error
from waiting

-- name: serving
-- Whether people paused the stage, and whether a live worker serves it.
select paused, served from penstock.stage_load where pipeline = $1 order by position limit 1

-- name: paused
-- Whether people paused the job.
select paused_at is not null from penstock.job_states where job_id = $1

-- name: budget
-- What the source may be asked, and what holds it up right now.
select rate, blocked_seconds, blocked_reason from penstock.limit_states where key = $1

-- name: abandoned
-- Runs that nothing works on any more: their watch was cancelled with the job, or ran out of attempts. $1 null: any.
select p.id from record_linking.projects p
where ($1::bigint is null or p.id = $1) and p.started_at is not null and p.ended_at is null and p.deleted_at is null
  and not exists (
    select from penstock.job_states j join penstock.queued_tasks q on q.job_id = j.job_id and not q.cancelled
    where j.job_id = p.job_id and j.cancelled_at is null)
order by p.id limit $2

-- name: cancelled
-- Whether people cancelled the job, or deleted it.
select not exists (select from penstock.job_states where job_id = $1 and cancelled_at is null)
