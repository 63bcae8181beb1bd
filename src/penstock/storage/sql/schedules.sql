-- name: now
-- The only clock that schedules know.
select now()

-- name: due
-- Oldest first; the time is read with them, so that "due" and "now" cannot disagree.
select name, cron, timezone, pipeline, input::text as input, options::text as options, missed, declared, source,
       paused_at, paused_by, last_fire_at, next_fire_at, last_task_id, last_error, created_at, now() as read_at
from penstock.schedules
where next_fire_at <= now() and paused_at is null
order by next_fire_at, name limit $1

-- name: bound
-- A process frozen inside the fire's transaction must not keep the schedule, nor a lane, for ever.
select set_config('lock_timeout', '2s', true), set_config('idle_in_transaction_session_timeout', '10s', true)

-- name: advance
-- Compare and set: whoever moves the next time forward fires the old one. A row that somebody else holds is
-- being fired at this moment, so it is left to him instead of waited for.
with held as (
    select name from penstock.schedules
    where name = $1 and next_fire_at = $2 and paused_at is null
    for update skip locked
)
update penstock.schedules s
set next_fire_at = $3, last_fire_at = coalesce($4, s.last_fire_at), last_error = null
from held where s.name = held.name and s.next_fire_at = $2
returning s.name

-- name: fire
-- After `advance`, in its transaction: one task per fire time, with what the row says now.
with fired as (
    select f.at, e.task_id, e.created
    from penstock.schedules s
    cross join unnest($2::timestamptz[], $3::text[]) as f (at, key)
    cross join lateral penstock.enqueue(
        pipeline => s.pipeline, input => s.input, priority => coalesce((s.options ->> 'priority')::integer, 0),
        idempotency_key => f.key, unique_key => s.options ->> 'unique_key', lane => s.options ->> 'lane',
        owner => s.options ->> 'owner', max_attempts => (s.options ->> 'max_attempts')::integer,
        options => nullif(jsonb_strip_nulls(jsonb_build_object(
            'timeout_seconds', s.options -> 'timeout', 'max_attempts', s.options -> 'max_attempts')), '{}')) e
    where s.name = $1
), noted as (
    -- The newest fire's task, for people to follow.
    update penstock.schedules set last_task_id = (select task_id from fired order by at desc limit 1) where name = $1
)
select at, task_id, created from fired order by at

-- name: fail
-- What cannot be enqueued is told and left behind: next time is next time. Null stops the schedule.
with held as (
    select name from penstock.schedules where name = $1 and next_fire_at = $2 and paused_at is null
    for update skip locked
)
update penstock.schedules s set next_fire_at = $3, last_error = $4
from held where s.name = held.name and s.next_fire_at = $2
returning s.name

-- name: fire_now
-- A person's wish: a key nobody used before, and the next time stays where it is.
with fired as (
    select e.task_id
    from penstock.schedules s
    cross join lateral penstock.enqueue(
        pipeline => s.pipeline, input => s.input, priority => coalesce((s.options ->> 'priority')::integer, 0),
        idempotency_key => 'schedule:' || s.name || ':now:' || gen_random_uuid(),
        unique_key => s.options ->> 'unique_key', lane => s.options ->> 'lane',
        owner => s.options ->> 'owner', max_attempts => (s.options ->> 'max_attempts')::integer,
        options => nullif(jsonb_strip_nulls(jsonb_build_object(
            'timeout_seconds', s.options -> 'timeout', 'max_attempts', s.options -> 'max_attempts')), '{}')) e
    where s.name = $1
)
update penstock.schedules s set last_task_id = fired.task_id from fired where s.name = $1 returning fired.task_id

-- name: declare
-- What the code says. An unchanged declaration writes nothing; the next time is calculated anew only if the
-- times themselves changed. In order of name, so that two starting workers cannot wait for each other.
insert into penstock.schedules as s
    (name, cron, timezone, pipeline, input, options, missed, next_fire_at, declared, source)
select d.name, d.cron, d.timezone, d.pipeline, d.input::jsonb, d.options::jsonb, d.missed, d.next_fire_at, true, $9
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
    as d (name, cron, timezone, pipeline, input, options, missed, next_fire_at)
order by d.name
on conflict (name) do update
set cron = excluded.cron, timezone = excluded.timezone, pipeline = excluded.pipeline, input = excluded.input,
    options = excluded.options, missed = excluded.missed, declared = true, source = excluded.source, last_error = null,
    next_fire_at = case when s.cron = excluded.cron and s.timezone = excluded.timezone
        then coalesce(s.next_fire_at, excluded.next_fire_at) else excluded.next_fire_at end
where (s.cron, s.timezone, s.pipeline, s.input, s.options, s.missed, s.declared, s.source)
    is distinct from (excluded.cron, excluded.timezone, excluded.pipeline, excluded.input, excluded.options,
                      excluded.missed, true, excluded.source)
   or s.next_fire_at is null
returning s.name

-- name: undeclare
-- Left as they are, so that nobody's work stops without a person's decision; only marked.
update penstock.schedules set declared = false
where declared and source = $1 and name <> all ($2::text[])
returning name

-- name: transfer
-- With the stages of an application that was renamed: the next declaration must find them as its own.
update penstock.schedules set source = $2 where source = $1

-- name: create
-- A person's schedule; an existing one is not touched.
insert into penstock.schedules (name, cron, timezone, pipeline, input, options, missed, next_fire_at)
values ($1, $2, $3, $4, $5::text::jsonb, $6::text::jsonb, $7, $8)
on conflict (name) do nothing
returning name

-- name: update
-- A person's change, refused for what the code would change back. Next time as in `declare`.
update penstock.schedules
set cron = $2, timezone = $3, pipeline = $4, input = $5::text::jsonb, options = $6::text::jsonb, missed = $7,
    last_error = null,
    next_fire_at = case when cron = $2 and timezone = $3 then coalesce(next_fire_at, $8) else $8 end
where name = $1 and not declared
returning name

-- name: delete
-- Refused for what the code would bring back. Tasks that were fired stay.
delete from penstock.schedules where name = $1 and not declared returning name

-- name: pause
-- The first pause keeps its time and its author.
update penstock.schedules set paused_at = coalesce(paused_at, now()), paused_by = coalesce(paused_by, $2)
where name = $1 returning name

-- name: resume
-- Times that passed during the pause are gone; a schedule that is not paused keeps its place.
update penstock.schedules set paused_at = null, paused_by = null, next_fire_at = $2
where name = $1 and paused_at is not null
returning name

-- name: get
select name, cron, timezone, pipeline, input::text as input, options::text as options, missed, declared, source,
       paused_at, paused_by, last_fire_at, next_fire_at, last_task_id, last_error, created_at, now() as read_at
from penstock.schedules where name = $1

-- name: list
select name, cron, timezone, pipeline, input::text as input, options::text as options, missed, declared, source,
       paused_at, paused_by, last_fire_at, next_fire_at, last_task_id, last_error, created_at, now() as read_at
from penstock.schedules order by name

-- name: known
-- For the sentence that says which schedules there are.
select name from penstock.schedules order by name limit 100

-- name: pipelines
-- A person's typing mistake is told at once, not at three in the morning.
select distinct pipeline from penstock.stages order by pipeline
