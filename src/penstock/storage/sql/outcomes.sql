-- name: reprocess
-- Finished tasks start again: the outcome moves into the history, the task gets a new run.
-- $2: statuses to take; $3: stage to start from per task's pipeline (null: the stage it ended in). A stage that it never
-- reached has no input yet: it starts where it ended.
with taken as (
    delete from penstock.outcomes o
    where o.task_id = any ($1::bigint[]) and o.status = any ($2::smallint[])
      -- What was edited lives on in its copy.
      and not (o.status = 5 and o.error is not null and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id')
    returning o.*
), placed as (
    select k.*, s.position, coalesce(target.id, k.stage) as target,
           coalesce((t.options ->> 'max_attempts')::smallint, target.max_attempts, s.max_attempts) as max_attempts,
           penstock.open_lane(s.pipeline, coalesce(l.key, 'default'), coalesce(l.priority, 0), l.owner, l.job_id, true)
               as new_lane
    from taken k
    join penstock.tasks t on t.id = k.task_id
    join penstock.stages s on s.id = k.stage
    left join penstock.lanes l on l.id = k.lane
    left join penstock.stages target on target.pipeline = s.pipeline and target.name = $3
        and target.position <= s.position
), kept as (
    -- The last stage of a longer pipeline: its result may be what the new run would compute again.
    insert into penstock.checkpoints (task_id, stage, run, version, result, digest)
    select task_id, stage, run, version, result, sha256(convert_to(result::text, 'UTF8'))
    from placed where status = 2 and position > 0
    on conflict do nothing
), queued as (
    insert into penstock.queue (task_id, lane, stage, run_at, max_attempts, attempt, run, lease)
    select task_id, new_lane, target, now(), max_attempts,
           case when $5 then 0 else least(attempts, max_attempts - 1) end, run + 1, lease
    from placed
), counted as (
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, status, -count(*) from placed group by 1, 2, 3
    union all
    -- The arrival moves along, to another lane or stage where the task starts again in one.
    select lane, stage, 0, -count(*) from placed where (target, new_lane) <> (stage, lane) group by 1, 2
    union all
    select new_lane, target, 0, count(*) from placed where (target, new_lane) <> (stage, lane) group by 1, 2
), noted as (
    insert into penstock.attempts (task_id, lease, worker, stage, run, attempt, burned, cause, error)
    select task_id, lease, worker, stage, run, attempts, false, 'reprocess',
           jsonb_build_object('by', $4::text, 'status', status, 'finished_at', finished_at, 'result', result, 'error', error)
    from placed
)
select task_id from placed

-- name: hold_ended
-- Of these tasks those that have ended in one of the states by then, held until the transaction ends: what ends again
-- afterwards is another ending, and is not taken twice. Without jobs that were deleted.
select o.task_id, o.job_id from penstock.outcomes o
where o.task_id = any ($1::bigint[]) and o.status = any ($2::smallint[]) and o.finished_at <= $3
  -- What was edited lives on in its copy.
  and not (o.status = 5 and o.error is not null and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id')
  and not exists (select from penstock.jobs j where j.id = o.job_id and j.deleted_at is not null)
order by o.task_id for update of o

-- name: replace
-- The second half of an edit: what failed, was not found or was skipped is closed, pointing at its edited copy, unless it was
-- edited already. From now on the copy stands for both in their job: no list of its endings holds the old one (no job_id), and
-- neither arrivals nor endings count it. That its row is there uncounted is said by 15 and 10, which retention counts back
-- when it takes the row: see sql/counts.sql.
with taken as (
    delete from penstock.outcomes o where o.task_id = $1 and o.status in (3, 4, 5)
      and not (o.status = 5 and o.error is not null and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id')
    returning o.*
), stored as (
    insert into penstock.outcomes (task_id, lane, lease, worker, stage, status, attempts, run, error)
    select task_id, lane, lease, worker, stage, 5, attempts, run,
           jsonb_build_object('type', 'Replaced', 'message', 'edited and replayed as task ' || $2::bigint, 'task_id', $2::bigint)
    from taken
), counted as (
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, change.state, change.n
    from taken cross join lateral (values (0, -1), (taken.status, -1), (15, -1), (10, 1)) as change (state, n)
), noted as (
    insert into penstock.attempts (task_id, lease, worker, stage, run, attempt, burned, cause, error)
    select task_id, lease, worker, stage, run, attempts, false, 'edit', jsonb_build_object('by', $3::text, 'error', error)
    from taken
)
select count(*) from taken

-- name: expire
-- Finished tasks beyond retention, a small batch at a time. Dead letters ($2) may be kept longer or shorter than the others
-- ($1), and have an index of their own. Where $1 or $2 is null, only tasks that belong to no job are removed, after $4. They
-- lie among what is kept, so only what ended from $5 to $6 is read: the caller goes on from there.
with old_others as (
    select task_id from penstock.outcomes
    where status <> 3 and finished_at < now() - $1 * interval '1 second' limit $3 for update skip locked
), old_dead as (
    select task_id from penstock.outcomes
    where status = 3 and finished_at < now() - $2 * interval '1 second' limit $3 for update skip locked
), old_single as (
    select o.task_id from penstock.outcomes o
    where ($1::double precision is null or $2::double precision is null)
      and case when o.status = 3 then $2::double precision is null else $1::double precision is null end
      and o.job_id is null and o.finished_at >= $5 and o.finished_at < least(now() - $4 * interval '1 second', $6)
      -- The ending of an edited row names no job, but its place in the file is the place of its copy.
      and not exists (select from penstock.tasks t where t.id = o.task_id and t.job_id is not null)
    limit $3 for update of o skip locked
), old as (
    select task_id from old_others union all select task_id from old_dead union all select task_id from old_single
), gone as (
    delete from penstock.outcomes where task_id = any (array(select task_id from old))
    returning task_id, lane, stage, status
), tasks as (
    delete from penstock.tasks where id = any (array(select task_id from gone))
), attempts as (
    delete from penstock.attempts where task_id = any (array(select task_id from gone))
), checkpoints as (
    delete from penstock.checkpoints where task_id = any (array(select task_id from gone))
), held as (
    -- A lane leaves with its counters; none are noted for one that has left.
    select id from penstock.lanes where id = any (array(select lane from gone)) for key share
), counted as (
    -- Endings stay counted for their job; that their rows are gone is counted beside them: see sql/counts.sql.
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, 10 + status, count(*) from gone where lane in (select id from held) group by 1, 2, 3
    union all
    select lane, stage, 10, -count(*) from gone where lane in (select id from held) group by 1, 2
)
select (select count(*) from gone) as count, least(now() - $4 * interval '1 second', $6) as until

-- name: clear
-- The same for endings that a person, or an application, wants to forget before their time: stages $1, statuses $2, ended
-- before $3. Goes through a window of $5 tasks behind $4, so that a pass over everything reads every row once.
with seen as materialized (
    select task_id, stage, status, finished_at from penstock.outcomes
    where task_id > $4 order by task_id limit $5
), gone as (
    delete from penstock.outcomes
    where task_id = any (array(
        select task_id from seen
        where stage = any ($1::integer[]) and status = any ($2::smallint[]) and finished_at < $3))
      and status = any ($2::smallint[]) and finished_at < $3
    returning task_id, lane, stage, status
), tasks as (
    delete from penstock.tasks where id = any (array(select task_id from gone))
), attempts as (
    delete from penstock.attempts where task_id = any (array(select task_id from gone))
), checkpoints as (
    delete from penstock.checkpoints where task_id = any (array(select task_id from gone))
), held as (
    select id from penstock.lanes where id = any (array(select lane from gone)) for key share
), counted as (
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, 10 + status, count(*) from gone where lane in (select id from held) group by 1, 2, 3
    union all
    select lane, stage, 10, -count(*) from gone where lane in (select id from held) group by 1, 2
)
-- Nothing behind a task that was stored after $3 can have ended before it.
select (select count(*) from gone) as cleared, max(s.task_id) as last_id,
       count(*) < $5 or coalesce((select t.created_at from penstock.tasks t where t.id = max(s.task_id)) >= $3, false) as last
from seen s
