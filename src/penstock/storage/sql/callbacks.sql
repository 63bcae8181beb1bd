-- Jobs that call back when their last task has ended. The columns are those of `jobs`; penstock.jobs.callback holds
-- {"pipeline", "arguments", "options"}, as core/enqueue.py writes it.

-- name: set
-- In the transaction that stores the tasks. A job calls back once: a second wish matches nothing. The size is that of
-- the text which `penstock.enqueue` will measure.
update penstock.jobs set callback = $2::text::jsonb
where id = $1 and callback is null and deleted_at is null
returning octet_length((callback -> 'arguments')::text) as arguments_bytes

-- name: get
-- For people.
select callback ->> 'pipeline' as pipeline, callback_task as task_id, called_back_at, callback ->> 'problem' as problem
from penstock.jobs where id = $1 and callback is not null

-- name: due
-- The next jobs behind $1 that have not called back, and those of them whose every task has ended. The counters alone
-- say so: arrivals less endings of all their lanes. `fire` looks again.
with looked as materialized (
    select id, cancelled_at, deleted_at from penstock.jobs
    where callback is not null and called_back_at is null and id > $1
    order by id limit $2
)
select count(*) as looked, max(k.id) as last_id,
       coalesce(array_agg(k.id order by k.id) filter (
           where k.deleted_at is null and p.present = 0 and (k.cancelled_at is not null or not f.importing)), '{}') as ended
from looked k
cross join lateral (
    select coalesce(sum(case c.state when 0 then c.n else -c.n end), 0) as present
    from penstock.lanes l join penstock.counts c on c.lane = l.id where l.job_id = k.id) p
cross join lateral (
    -- Rows of its file may still come, unless the task that stores them ended badly.
    select exists (
        select from penstock.imports i
        where i.job_id = k.id and i.state in ('waiting', 'storing')
          and not exists (select from penstock.outcomes o where o.task_id = i.task_id and o.status <> 2)) as importing) f

-- name: hold
-- First statement of a fire. Whoever holds the job calls it back; who finds it held leaves it to him. An import that is
-- storing rows at this moment is waited for, so that the next statement sees them.
with job as materialized (
    select id from penstock.jobs where id = $1 and callback is not null and called_back_at is null
    for no key update skip locked
), import as materialized (
    select i.job_id from penstock.imports i join job on job.id = i.job_id for share of i
)
select job.id from job where (select count(*) from import) >= 0

-- name: fire
-- After `hold`, in its transaction and with a newer snapshot: the callback's task and the mark that it was made.
with ended as (
    select j.id, j.owner, j.callback ->> 'pipeline' as pipeline, j.callback -> 'arguments' as arguments,
           j.callback -> 'options' as chosen, p.counts
    from penstock.jobs j
    cross join lateral (
        select coalesce(sum(case c.state when 0 then c.n else -c.n end), 0) as present,
               jsonb_build_object(
                   'total', coalesce(sum(case c.state when 0 then c.n when 7 then -c.n else 0 end), 0),
                   'done', coalesce(sum(c.n) filter (where c.state = 2), 0),
                   'error', coalesce(sum(c.n) filter (where c.state = 3), 0),
                   'not_found', coalesce(sum(c.n) filter (where c.state = 4), 0),
                   'skipped', coalesce(sum(c.n) filter (where c.state = 5), 0),
                   'cancelled', coalesce(sum(c.n) filter (where c.state = 6), 0)) as counts
        from penstock.lanes l join penstock.counts c on c.lane = l.id where l.job_id = j.id) p
    where j.id = $1 and j.callback is not null and j.called_back_at is null and j.deleted_at is null
      and p.present = 0
      and (j.cancelled_at is not null or not exists (
          select from penstock.imports i
          where i.job_id = j.id and i.state in ('waiting', 'storing')
            and not exists (select from penstock.outcomes o where o.task_id = i.task_id and o.status <> 2)))
), called as (
    -- The key names the job, so even a mark that was taken away by hand fires nothing twice while the task is kept.
    select e.id, t.task_id
    from ended e
    cross join lateral penstock.enqueue(
        pipeline => e.pipeline,
        input => e.arguments || coalesce((
            -- What its handler asked for by the names of its parameters.
            select jsonb_object_agg(g.name, g.value)
            from (values ('job', to_jsonb(e.id)), ('counts', e.counts)) as g (name, value)
            where e.chosen -> 'passes' ? g.name), '{}'),
        priority => coalesce((e.chosen ->> 'priority')::integer, 0),
        run_at => coalesce((e.chosen ->> 'run_at')::timestamptz,
                           now() + (e.chosen ->> 'delay_seconds')::double precision * interval '1 second'),
        idempotency_key => 'fan-in:' || e.id, unique_key => e.chosen ->> 'unique_key', lane => e.chosen ->> 'lane',
        owner => coalesce(e.chosen ->> 'owner', e.owner), max_attempts => (e.chosen ->> 'max_attempts')::integer,
        options => nullif(jsonb_strip_nulls(jsonb_build_object(
            'timeout_seconds', e.chosen -> 'timeout_seconds', 'max_attempts', e.chosen -> 'max_attempts')), '{}'),
        trace => e.chosen ->> 'trace') t
)
update penstock.jobs j set called_back_at = now(), callback_task = c.task_id
from called c where j.id = c.id and j.called_back_at is null
returning j.callback_task

-- name: fail
-- What can never be enqueued is told once and left: tried every second, it would hide the others.
update penstock.jobs set called_back_at = now(), callback = callback || jsonb_build_object('problem', $2::text)
where id = $1 and callback is not null and called_back_at is null
returning id
