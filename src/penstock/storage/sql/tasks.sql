-- name: enqueue
-- The same function that triggers and other languages call.
select task_id, created from penstock.enqueue(
    pipeline => $1, input => $2::text::jsonb, priority => $3, run_at => case when $4::double precision is null
        then $5::timestamptz else now() + $4 * interval '1 second' end,
    idempotency_key => $6, unique_key => $7, lane => $8, owner => $9, job_id => $10, max_attempts => $11,
    options => $12::text::jsonb, trace => $13, notify => $14)

-- name: enqueue_many
-- Many tasks of one lane in one statement.
with placed as (
    insert into penstock.tasks (entry, job_id, owner, input, options, trace)
    select $1, $2, $3, i.input::jsonb, $4::text::jsonb, $5 from unnest($6::text[]) as i (input)
    returning id
), queued as (
    insert into penstock.queue (task_id, lane, stage, run_at, max_attempts)
    select id, $7, $1, coalesce($8::timestamptz, now() + $9::double precision * interval '1 second', now()), $10 from placed
), counted as (
    insert into penstock.counts (lane, stage, state, n) select $7, $1, 0, count(*) from placed having count(*) > 0
)
select min(id) as first_id, max(id) as last_id, count(*) as stored from placed

-- name: draw_ids
-- Ids for rows that are about to be copied. Drawn beforehand, so that afterwards nobody has to find out which rows were
-- ours; xmin would not tell inside a savepoint.
-- With them the time at which the rows are due, by the database's clock.
select array_agg(nextval('penstock.tasks_id_seq')) as ids,
       coalesce($2::timestamptz, now() + $3::double precision * interval '1 second', now()) as run_at
from generate_series(1, $1)

-- name: count_copied
-- After a COPY into tasks and queue.
insert into penstock.counts (lane, stage, state, n) values ($1, $2, 0, $3)

-- name: wake
select pg_notify('penstock_wake', $1)

-- name: outcomes_of
select task_id, status, result::text as result, error::text as error
from penstock.outcomes where task_id = any ($1::bigint[])

-- name: exists_of
select id from penstock.tasks where id = any ($1::bigint[])

-- name: get
select s.task_id, s.job_id, s.owner, s.pipeline, s.stage, s.state, s.attempts, s.max_attempts, s.run, s.lease, s.worker,
       s.run_at, s.updated_at, s.created_at, s.result::text as result, s.error::text as error, s.input::text as input,
       t.idempotency_key, s.options::text as options, t.trace, s.replaces, w.name as worker_name
from penstock.task_states s join penstock.tasks t on t.id = s.task_id
left join penstock.workers w on w.id = s.worker
where s.task_id = $1

-- name: age
-- By the database's clock: how long ago it was stored.
select extract(epoch from now() - created_at)::double precision from penstock.tasks where id = $1

-- name: left
-- How long ago a worker first left it for another release, in this run of the task.
select extract(epoch from now() - min(at))::double precision from penstock.attempts
where task_id = $1 and run = $2 and cause = 'version skew'

-- name: history
select a.at, a.lease, a.worker, a.stage, a.run, a.attempt, a.burned, a.cause, a.error::text as error, a.next_run_at,
       s.name as stage_name, w.name as worker_name
from penstock.attempts a
left join penstock.stages s on s.id = a.stage
left join penstock.workers w on w.id = a.worker
where a.task_id = $1 order by a.at, a.lease

-- name: enqueue_named
-- The same call with named parameters and plain casts, for drivers that bind by name.
select task_id, created from penstock.enqueue(
    pipeline => cast(:pipeline as text), input => cast(:input as jsonb), priority => cast(:priority as integer),
    run_at => coalesce(cast(:run_at as timestamptz),
                       now() + cast(:delay_seconds as double precision) * interval '1 second'),
    idempotency_key => cast(:idempotency_key as text), unique_key => cast(:unique_key as text),
    lane => cast(:lane as text), owner => cast(:owner as text), job_id => cast(:job_id as bigint),
    max_attempts => cast(:max_attempts as integer), options => cast(:options as jsonb), trace => cast(:trace as text),
    notify => cast(:notify as boolean))

-- name: owner
-- Who may see it: asked before anything is read or done on somebody's behalf.
select owner from penstock.tasks where id = $1
