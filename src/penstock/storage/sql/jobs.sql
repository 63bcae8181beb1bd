-- name: create
insert into penstock.jobs (pipeline, name, owner, idempotency_key, metadata)
values ($1, $2, $3, $4, $5::text::jsonb)
on conflict (pipeline, idempotency_key) where idempotency_key is not null do nothing
returning id

-- name: by_idempotency_key
select id from penstock.jobs where pipeline = $1 and idempotency_key = $2

-- name: get
select id, pipeline, name, owner, metadata::text as metadata, paused_at, paused_by, pause_reason, cancelled_at,
       cancelled_by, created_at from penstock.jobs where id = $1 and deleted_at is null

-- name: get_many
select id, pipeline, name, owner, metadata::text as metadata, paused_at, paused_by, pause_reason, cancelled_at,
       cancelled_by, created_at from penstock.jobs where id = any ($1::bigint[]) and deleted_at is null order by id

-- name: metadata_of
select id, metadata::text as metadata from penstock.jobs where id = any ($1::bigint[])

-- name: list
select id, pipeline, name, owner, metadata::text as metadata, paused_at, paused_by, pause_reason, cancelled_at,
       cancelled_by, created_at from penstock.jobs
where ($1::bigint is null or id < $1) and ($2::text is null or owner = $2) and deleted_at is null
order by id desc limit $3

-- name: pause
with job as (
    update penstock.jobs set paused_at = coalesce(paused_at, now()), paused_by = $2, pause_reason = $3
    where id = $1 and cancelled_at is null returning id, paused_at
), held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select l.id from penstock.lanes l where l.job_id = (select id from job) and l.cancelled_at is null
    order by l.id for no key update
), lanes as (
    update penstock.lanes l set paused_at = job.paused_at, paused_by = $2, pause_reason = $3
    from job, held where l.id = held.id
)
select id from job

-- name: resume
with job as (
    update penstock.jobs set paused_at = null, paused_by = null, pause_reason = null
    where id = $1 and cancelled_at is null returning id
), held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select l.id from penstock.lanes l where l.job_id = (select id from job) and l.cancelled_at is null
    order by l.id for no key update
), lanes as (
    update penstock.lanes l set paused_at = null, paused_by = null, pause_reason = null
    from held where l.id = held.id
)
select id from job

-- name: cancel
-- Touches the job and its lanes only; `sweep_cancelled` ends the rows, running ones are told with the next heartbeat.
with job as (
    update penstock.jobs set cancelled_at = now(), cancelled_by = $2 where id = $1 and cancelled_at is null returning id
), held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select l.id from penstock.lanes l where l.job_id = (select id from job) and l.cancelled_at is null
    order by l.id for no key update
), lanes as (
    update penstock.lanes l set cancelled_at = now(), cancelled_by = $2, active = true
    from held where l.id = held.id
)
select id from job

-- name: delete
-- From here on nobody finds it, and its key is free again: the same submission later is a new job.
update penstock.jobs set deleted_at = now(), idempotency_key = null where id = $1 and deleted_at is null returning id

-- name: deleted
select id from penstock.jobs where deleted_at is not null order by id limit $1

-- name: remove_rows
-- A batch of a deleted job's finished tasks with all that is known about them. Waiting ones are ended by the sweep of
-- cancelled lanes first.
with doomed as (
    select t.id from penstock.tasks t
    where t.job_id = $1 and not exists (select from penstock.queue q where q.task_id = t.id)
    order by t.id limit $2
), gone as (
    delete from penstock.tasks where id = any (array(select id from doomed)) returning id
), outcomes as (
    delete from penstock.outcomes where task_id = any (array(select id from doomed)) returning lane, stage, status
), attempts as (
    delete from penstock.attempts where task_id = any (array(select id from doomed))
), checkpoints as (
    delete from penstock.checkpoints where task_id = any (array(select id from doomed))
), counted as (
    -- Until the job itself goes, whoever counts its pipeline sees that these rows are gone: see sql/counts.sql.
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, 10 + status, count(*) from outcomes group by 1, 2, 3
    union all
    select lane, stage, 10, -count(*) from outcomes group by 1, 2
)
select count(*) from gone

-- name: remove
-- With its lanes, counters and files. Not at once: a transaction that was storing rows of it may still be open.
with empty as (
    select j.id from penstock.jobs j
    where j.id = $1 and j.deleted_at < now() - $2 * interval '1 second'
      and not exists (select from penstock.tasks t where t.job_id = j.id)
), lanes as (
    delete from penstock.lanes where job_id in (select id from empty) returning id
), counts as (
    delete from penstock.counts where lane in (select id from lanes)
), imports as (
    delete from penstock.imports where job_id in (select id from empty)
), files as (
    delete from penstock.files where job_id in (select id from empty)
)
delete from penstock.jobs where id in (select id from empty) returning id

-- name: finished_tasks
-- The finished tasks of a job in one status behind the place ($5, $6), oldest ending first; $3 keeps out those that end
-- again in the meantime. Whether attempts are left is a column and not a filter: a page reads $4 rows and no more.
select o.task_id, o.finished_at,
       o.attempts < (select coalesce((t.options ->> 'max_attempts')::smallint, s.max_attempts)
                     from penstock.tasks t cross join penstock.stages s
                     where t.id = o.task_id and s.id = o.stage) as attempts_left
from penstock.outcomes o
where o.job_id = $1 and o.status = $2 and o.finished_at <= $3 and (o.finished_at, o.task_id) > ($5, $6)
order by o.finished_at, o.task_id limit $4

-- name: now
select now()

-- name: lock_expired
-- Jobs that look empty, with their lanes locked: whoever enqueues into a job holds its lane until the commit, and such a
-- lane is skipped.
select l.id as lane, l.job_id as job
from penstock.jobs j join penstock.lanes l on l.job_id = j.id
where j.created_at < now() - $1 * interval '1 second'
  and not exists (select from penstock.tasks t where t.job_id = j.id)
order by l.id limit $2
for update of l skip locked

-- name: expire
-- In a statement of its own, whose snapshot is newer than the locks: only jobs that are still empty, and all of whose
-- lanes are held.
with gone as (
    delete from penstock.jobs j
    where j.id = any ($1::bigint[])
      and not exists (select from penstock.tasks t where t.job_id = j.id)
      and not exists (select from penstock.lanes l where l.job_id = j.id and l.id <> all ($2::bigint[]))
    returning id
), lanes as (
    delete from penstock.lanes where job_id = any (array(select id from gone)) returning id
), counts as (
    delete from penstock.counts where lane = any (array(select id from lanes))
), imports as (
    delete from penstock.imports where job_id = any (array(select id from gone))
), files as (
    delete from penstock.files where job_id = any (array(select id from gone))
)
select count(*) from gone
