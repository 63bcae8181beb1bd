-- The hot path. Each move of a task is one statement over arrays; each checks the lease it speaks for.
-- `is not distinct from` in the guards is deliberate: with `=` the planner may take the partial index of
-- leased rows, which its statistics believe to be empty, and run at a quarter of the speed.

-- name: claim
-- Takes due rows of the given (stage, lane) pairs, in the given order, at most $6 in all.
-- $4, $5: start behind this position; rows before it were claimed already, and skipping their dead index
-- entries keeps the claim fast while a long reader holds back vacuum.
with picked as (
    -- Lazy: pairs behind the one that fills the batch are not looked at, so the order of pairs is strict.
    select q.task_id
    from unnest($1::integer[], $2::bigint[], $3::integer[], $4::timestamptz[], $5::bigint[])
        as w (stage, lane, quota, after_run_at, after_task)
    cross join lateral (
        select task_id from penstock.queue
        where stage = w.stage and lane = w.lane and worker is null
          and run_at <= now() and (run_at, task_id) > (w.after_run_at, w.after_task)
          -- Pause and cancel take effect here, whatever the worker believes.
          and exists (select from penstock.lanes l left join penstock.jobs j on j.id = l.job_id
                      where l.id = w.lane and l.paused_at is null and l.cancelled_at is null
                        and j.paused_at is null and j.cancelled_at is null)
          and exists (select from penstock.stages s where s.id = w.stage and s.paused_at is null)
        order by run_at, task_id
        limit w.quota
        for update skip locked) q
    limit $6
), claimed as (
    -- The number is drawn after the row is locked, so it grows per task.
    update penstock.queue
    set worker = $7, lease = nextval('penstock.lease_numbers'), updated_at = now()
    where task_id = any (array(select task_id from picked))
    returning task_id, lease, stage, lane, attempt, max_attempts, crashes, run, run_at, rescues
)
select c.task_id, c.lease, c.stage, c.lane, c.attempt, c.max_attempts, c.crashes, c.run, c.run_at,
       t.input::text as input, t.job_id, t.options::text as options, t.idempotency_key, t.trace, c.rescues
from claimed c join penstock.tasks t on t.id = c.task_id

-- name: claim_by_id
-- Takes the given rows if they are due and nobody has them: for work that is announced by a message or was looked up
-- before. What was known of a row then is asked again: $3 its stage (null: any), $4 since when it has not changed.
-- $5: leave alone what has a fleet-wide limit, because nobody counts here.
with picked as (
    select q.task_id from penstock.queue q
    join penstock.lanes l on l.id = q.lane and l.paused_at is null and l.cancelled_at is null
    left join penstock.jobs j on j.id = l.job_id
    join penstock.stages s on s.id = q.stage and s.paused_at is null
    where q.task_id = any ($1::bigint[]) and q.worker is null and q.run_at <= now()
      and ($3::integer[] is null or q.stage = any ($3)) and q.updated_at <= now() - make_interval(secs => $4)
      and j.paused_at is null and j.cancelled_at is null
      and (not $5::boolean or l.max_running is null and s.max_running is null)
    for update of q skip locked
), claimed as (
    update penstock.queue
    set worker = $2, lease = nextval('penstock.lease_numbers'), updated_at = now()
    where task_id = any (array(select task_id from picked))
    returning task_id, lease, stage, lane, attempt, max_attempts, crashes, run, run_at, rescues
)
select c.task_id, c.lease, c.stage, c.lane, c.attempt, c.max_attempts, c.crashes, c.run, c.run_at,
       t.input::text as input, t.job_id, t.options::text as options, t.idempotency_key, t.trace, c.rescues
from claimed c join penstock.tasks t on t.id = c.task_id

-- name: lock_limited_stages
-- Serialises claims of stages with a fleet-wide limit; always in id order, so claimers cannot deadlock.
select id, max_running from penstock.stages
where id = any ($1::integer[]) and max_running is not null
order by id for no key update

-- name: lock_limited_lanes
-- A lane that people name has a row per priority, and a job may have several; the limit is one for all of them. So all
-- are locked, in id order, and `leader` says which belong together.
select l.id, l.max_running, (
    select min(m.id) from penstock.lanes m
    where m.pipeline = l.pipeline and (m.job_id = l.job_id or m.job_id is null and l.job_id is null and m.key = l.key)) as leader
from penstock.lanes l
where exists (
    select from penstock.lanes a
    where a.id = any ($1::bigint[]) and a.pipeline = l.pipeline
      and (a.job_id = l.job_id or a.job_id is null and l.job_id is null and a.key = l.key))
order by l.id for no key update of l

-- name: count_leased
-- How many are leased in these stages, per lane. Runs after the locks, in a statement of its own, so that
-- its snapshot holds everything earlier claimers committed.
select stage, lane, count(*) as leased from penstock.queue
where stage = any ($1::integer[]) and worker is not null
group by stage, lane

-- name: finish
-- Ends tasks: the queue row goes, the outcome comes. Rows whose lease is not current are left alone;
-- the caller compares the number returned with the number asked for.
with ended as (
    delete from penstock.queue q
    using unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[], $5::text[], $7::text[])
        as e (task_id, lease, status, result, error, version)
    where q.task_id = e.task_id
      and q.lease is not distinct from e.lease
      and q.worker is not distinct from $6
    -- An array that was left out reads as nulls: no status means DONE.
    returning q.task_id, q.lane, q.stage, q.lease, q.run, q.attempt, coalesce(e.status, 2) as status, e.result, e.error,
        e.version
), stored as (
    insert into penstock.outcomes
        (task_id, job_id, lane, lease, worker, stage, status, attempts, run, version, result, error)
    select e.task_id, l.job_id, e.lane, e.lease, $6, e.stage, e.status, e.attempt + 1, e.run, e.version,
           e.result::jsonb, e.error::jsonb
    from ended e left join penstock.lanes l on l.id = e.lane
), counted as (
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, status, count(*) from ended group by lane, stage, status
)
select count(*) from ended

-- name: settled_before
-- Of tasks whose finish matched nothing: those that this very lease had settled already (the answer to an
-- earlier try was lost). All others are stale.
select o.task_id from unnest($1::bigint[], $2::bigint[]) as e (task_id, lease)
join penstock.outcomes o on o.task_id = e.task_id and o.lease = e.lease

-- name: advance
-- Stores a stage's result and moves the task to the next stage. A task that was asked to stop ends here.
with asked as (
    select q.task_id, q.lane, q.lease, q.run, q.attempt, q.cancel_at is not null as cancelled,
           a.stage, a.next_stage, a.result::jsonb as result, a.version, a.reused_from, a.hashed,
           coalesce((t.options ->> 'max_attempts')::smallint, s.max_attempts) as max_attempts
    from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::text[], $8::smallint[],
                $9::boolean[])
        as a (task_id, lease, stage, next_stage, result, version, reused_from, hashed)
    join penstock.queue q on q.task_id = a.task_id
      and q.lease is not distinct from a.lease
      and q.worker is not distinct from $7
      and q.stage is not distinct from a.stage
    join penstock.stages s on s.id = a.next_stage
    join penstock.tasks t on t.id = a.task_id
    for update of q
), kept as (
    insert into penstock.checkpoints (task_id, stage, run, version, result, digest, reused_from)
    select task_id, stage, run, version, result, case when hashed then sha256(convert_to(result::text, 'UTF8')) end,
           reused_from
    from asked
), moved as (
    -- The unique key ends with the first stage: what is enqueued from now on has to be read anew.
    update penstock.queue q
    set worker = null, stage = a.next_stage, attempt = 0, crashes = 0, rescues = 0,
        max_attempts = a.max_attempts, unique_key = null, run_at = now(), updated_at = now(), sent_at = null
    from asked a where q.task_id = a.task_id and not a.cancelled
), ended as (
    delete from penstock.queue q using asked a where q.task_id = a.task_id and a.cancelled
), stored as (
    insert into penstock.outcomes (task_id, job_id, lane, lease, worker, stage, status, attempts, run, error)
    select a.task_id, l.job_id, a.lane, a.lease, $7, a.stage, 6, a.attempt + 1, a.run,
           '{"type": "Cancelled", "message": "cancelled while it ran"}'
    from asked a left join penstock.lanes l on l.id = a.lane where a.cancelled
), counted as (
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, case when cancelled then 6 else 7 end, count(*) from asked group by 1, 2, 3
    union all
    select lane, next_stage, 0, count(*) from asked where not cancelled group by 1, 2
)
select task_id, cancelled from asked

-- name: release
-- Gives leased rows back: retry, snooze, hand-back, crash and rescue are this one move with other words.
-- Instead of waiting again a row may end here: asked to stop (CANCELLED), crashed or rescued too often
-- (ERROR), or its unique key is waiting in a newer task (SKIPPED).
with held as (
    select q.task_id, q.lane, q.stage, q.lease, q.run, q.attempt, q.unique_key, r.burned, r.crashed, r.rescued, r.cause, r.error,
           case when r.delay_ms is null then q.run_at
                -- Hastened between the handler's look and its snooze: what it waits for may be there by now.
                when q.hastened = q.lease and r.cause in ('snooze', 'not_found') then now()
                else now() + r.delay_ms * interval '1 millisecond' end as next_run_at,
           case when q.cancel_at is not null then 6
                when r.crashed and (q.crashes + 1 >= $10 or q.attempt + 1 >= q.max_attempts) then 3
                when r.rescued and q.rescues + 1 >= $11 then 3
                when exists (select from penstock.queue twin
                             where twin.unique_key = q.unique_key and twin.worker is null) then 5
           end as ending
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::boolean[], $6::boolean[],
                $7::text[], $8::text[])
        as r (task_id, lease, delay_ms, burned, crashed, rescued, cause, error)
    join penstock.queue q on q.task_id = r.task_id
      and q.lease is not distinct from r.lease
      and q.worker is not distinct from $9
    for update of q
), asked as (
    -- Of rows of this batch with the same unique key only the youngest may wait.
    select h.*, case when h.ending is null and h.unique_key is not null and 1 < row_number() over (
                          partition by h.unique_key, h.ending is null order by h.task_id desc) then 5
                     else h.ending end as ends_as
    from held h
), back as (
    update penstock.queue q
    set worker = null, sent_at = null, run_at = a.next_run_at, updated_at = now(), attempt = q.attempt + a.burned::integer,
        crashes = q.crashes + a.crashed::integer, rescues = q.rescues + a.rescued::integer
    from asked a where q.task_id = a.task_id and a.ends_as is null
), ended as (
    delete from penstock.queue q using asked a where q.task_id = a.task_id and a.ends_as is not null
), stored as (
    insert into penstock.outcomes (task_id, job_id, lane, lease, worker, stage, status, attempts, run, error)
    select a.task_id, l.job_id, a.lane, a.lease, $9, a.stage, a.ends_as, a.attempt + 1, a.run,
           case a.ends_as
               when 6 then '{"type": "Cancelled", "message": "cancelled while it ran"}'
               when 5 then '{"type": "Coalesced", "message": "a newer task with the same unique key is waiting"}'
               else coalesce(a.error::jsonb, '{}') end
    from asked a left join penstock.lanes l on l.id = a.lane where a.ends_as is not null
), counted as (
    insert into penstock.counts (lane, stage, state, n)
    select lane, stage, ends_as, count(*) from asked where ends_as is not null group by 1, 2, 3
), noted as (
    insert into penstock.attempts (task_id, lease, worker, stage, run, attempt, burned, cause, error, next_run_at)
    select task_id, lease, $9, stage, run, attempt + 1, burned, cause, error::jsonb,
           case when ends_as is null then next_run_at end
    from asked where cause is not null
)
select task_id, coalesce(ends_as, 0) as ending from asked

-- name: cancel
-- One task: a waiting one ends at once, a leased one is asked to stop and ends when its worker lets go.
with held as (
    select task_id, lane, stage, lease, worker, run, attempt from penstock.queue where task_id = $1 for update
), asked as (
    update penstock.queue q set cancel_at = coalesce(q.cancel_at, now()), updated_at = now()
    from held h where q.task_id = h.task_id and h.worker is not null
    returning q.task_id
), ended as (
    delete from penstock.queue q using held h where q.task_id = h.task_id and h.worker is null
    returning q.task_id
), stored as (
    insert into penstock.outcomes (task_id, job_id, lane, lease, stage, status, attempts, run, error)
    select h.task_id, l.job_id, h.lane, h.lease, h.stage, 6, h.attempt, h.run,
           jsonb_build_object('type', 'Cancelled', 'message', 'cancelled by ' || $2::text)
    from held h join ended using (task_id) left join penstock.lanes l on l.id = h.lane
), counted as (
    insert into penstock.counts (lane, stage, state, n) select lane, stage, 6, 1 from held where worker is null
)
select (select count(*) from ended) as ended, (select count(*) from asked) as asked

-- name: hasten
-- What waits for a time to come starts now, a batch at a time; rows that somebody has in hand are left to them.
with chosen as (
    select q.task_id from penstock.lanes l
    join penstock.stages s on s.pipeline = l.pipeline
    cross join lateral (
        select task_id from penstock.queue
        where stage = s.id and lane = l.id and worker is null and run_at > now()
          and ($2::bigint[] is null or task_id = any ($2))
        order by run_at, task_id limit $3 for update skip locked) q
    where l.job_id = $1 and l.cancelled_at is null
    limit $3
)
update penstock.queue set run_at = now(), updated_at = now()
where task_id = any (array(select task_id from chosen)) returning task_id

-- name: hasten_chosen
-- Of these tasks, whatever their jobs, what waits for a time to come starts now. Returns them with their jobs.
with held as (
    select q.task_id, l.job_id from penstock.queue q join penstock.lanes l on l.id = q.lane and l.cancelled_at is null
    where q.task_id = any ($1::bigint[]) and q.worker is null and q.run_at > now()
    order by q.task_id for update of q
), started as (
    update penstock.queue set run_at = now(), updated_at = now() where task_id = any (array(select task_id from held))
)
select task_id, job_id from held

-- name: cancel_chosen
-- Many tasks, whatever their jobs. Waiting ones end at once; running ones are asked to stop where $4 says so, and end when their worker lets go. Tasks that were
-- stored after $3 were not chosen by anybody. What waits in a cancelled lane is ended by its sweep.
with held as (
    select q.task_id, q.lane, q.stage, q.lease, q.worker, q.run, q.attempt, q.cancel_at, l.job_id
    from penstock.queue q
    join penstock.tasks t on t.id = q.task_id and t.created_at <= $3
    join penstock.lanes l on l.id = q.lane and l.cancelled_at is null
    where q.task_id = any ($1::bigint[]) and ($4 or q.worker is null)
    order by q.task_id for update of q
), asked as (
    update penstock.queue q set cancel_at = now(), updated_at = now()
    from held h where q.task_id = h.task_id and h.worker is not null and h.cancel_at is null
    returning q.task_id
), ended as (
    delete from penstock.queue q using held h where q.task_id = h.task_id and h.worker is null
    returning q.task_id
), stored as (
    insert into penstock.outcomes (task_id, job_id, lane, lease, stage, status, attempts, run, error)
    select h.task_id, h.job_id, h.lane, h.lease, h.stage, 6, h.attempt, h.run,
           jsonb_build_object('type', 'Cancelled', 'message', 'cancelled by ' || $2::text)
    from held h join ended using (task_id)
), counted as (
    insert into penstock.counts (lane, stage, state, n)
    select h.lane, h.stage, 6, count(*) from held h join ended using (task_id) group by 1, 2
)
select h.task_id, h.job_id from held h
where h.task_id in (select task_id from ended union all select task_id from asked)

-- name: leased_in_job
-- What runners hold of a job: a hasten of the whole job is for these as well.
select q.task_id from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
where l.job_id = $1 and l.cancelled_at is null

-- name: note_hasten
-- Of these tasks, what somebody holds: the note says under which lease it was hastened, and the release reads it. Returns
-- the tasks whose row is locked, because they are being settled: waiting for several of them while others are held here
-- could end in a deadlock with that settle.
with leased as (
    select task_id from penstock.queue
    where task_id = any ($1::bigint[]) and worker is not null and hastened is distinct from lease
), free as (
    select q.task_id from penstock.queue q where q.task_id in (select task_id from leased) for update skip locked
), noted as (
    update penstock.queue q set hastened = q.lease from free f where q.task_id = f.task_id and q.worker is not null
    returning q.task_id
)
select task_id from leased where task_id not in (select task_id from noted)

-- name: note_hasten_of_one
-- The same, for a task that is being settled: waits for that. If it snoozes by then, the hasten that follows finds it waiting.
update penstock.queue set hastened = lease where task_id = $1 and worker is not null

-- name: sweep_cancelled
-- Ends what still waits in cancelled lanes, or in those of one job, a batch at a time. The cancel itself touched only the lane.
with doomed as (
    select q.task_id from penstock.lanes l
    join penstock.stages s on s.pipeline = l.pipeline
    cross join lateral (
        select task_id from penstock.queue
        where stage = s.id and lane = l.id and worker is null
        limit $1 for update skip locked) q
    where l.cancelled_at is not null and l.active and ($2::bigint is null or l.job_id = $2)
    limit $1
), ended as (
    delete from penstock.queue where task_id = any (array(select task_id from doomed))
    returning task_id, lane, stage, lease, attempt, run
), stored as (
    insert into penstock.outcomes (task_id, job_id, lane, lease, stage, status, attempts, run, error)
    select e.task_id, l.job_id, e.lane, e.lease, e.stage, 6, e.attempt, e.run,
           jsonb_build_object('type', 'Cancelled', 'message', 'cancelled by ' || coalesce(l.cancelled_by, 'somebody'))
    from ended e join penstock.lanes l on l.id = e.lane
), counted as (
    insert into penstock.counts (lane, stage, state, n) select lane, stage, 6, count(*) from ended group by 1, 2
)
select count(*) from ended

-- name: asked_to_stop
-- Leases of these workers that somebody cancelled, one by one or with their lane. `coalesce` keeps the planner off the
-- index of leased rows: that of cancelled ones is nearly empty.
select task_id, lease, worker from penstock.queue where cancel_at is not null and coalesce(worker, 0) = any ($1::bigint[])
union
select q.task_id, q.lease, q.worker
from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
where l.cancelled_at is not null and l.active and q.worker = any ($1::bigint[])

-- name: asked_to_wait
-- Leases of these workers in stages and lanes that were paused since: what has not begun goes back.
select q.task_id, q.lease, q.worker
from penstock.stages s join penstock.queue q on q.stage = s.id and q.worker is not null
where s.paused_at is not null and q.worker = any ($1::bigint[])
union
select q.task_id, q.lease, q.worker
from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
where l.paused_at is not null and l.active and q.worker = any ($1::bigint[])

-- name: leases_of
-- Everything one worker holds; `ran` says whether its last heartbeat named this very lease as running. Heartbeats name
-- leases, not tasks: a lease number is given once, so a run of the same task under an earlier lease cannot be meant.
select q.task_id, q.lease, q.stage, q.lease = any (w.running) as ran
from penstock.queue q join penstock.workers w on w.id = q.worker
where q.worker is not null and q.worker = $1
limit $2

-- name: leases_to_rescue
-- The same, locked, for a worker that is gone. A row that is locked is being settled right now, maybe by a frozen
-- process: waiting for it would hold up the rescue of everything else. A row that was rescued before notes that it
-- begins: without the note it only waited, and a row may wait in the inboxes of many machines that die.
select q.task_id, q.lease, q.stage, told.ran or q.begun is not distinct from q.lease as ran,
       q.rescues > 0 and q.begun is distinct from q.lease and not told.ran as waited
from penstock.queue q left join penstock.workers w on w.id = q.worker
cross join lateral (select coalesce(q.lease = any (w.running), false) as ran) told
where q.worker is not null and q.worker = $1
limit $2
for update of q skip locked

-- name: begin
-- A task that was rescued before begins under this lease. Before its handler does: whether it had begun decides, if its
-- machine dies, what the rescue counts as.
update penstock.queue set begun = lease where task_id = $1 and lease = $2 and worker = $3

-- name: holders_gone
-- Workers that hold leases although they are dead, gone or stopped.
select q.worker from penstock.queue q
left join penstock.workers w on w.id = q.worker
where q.worker is not null and (w.id is null or w.died_at is not null or w.stopped_at is not null)
group by q.worker

-- name: ripe
-- Rows that the gentle profile may claim: due and unchanged for at least $7 seconds. Only named here; who gets them is
-- decided by the claim by id. Stops at the first row of a lane that is not due for so long, by the order of the index.
select q.task_id
from unnest($1::integer[], $2::bigint[], $3::integer[], $4::timestamptz[], $5::bigint[])
    with ordinality as w (stage, lane, quota, after_run_at, after_task, place)
cross join lateral (
    select task_id, run_at from penstock.queue
    where stage = w.stage and lane = w.lane and worker is null
      and run_at <= now() - $7::double precision * interval '1 second'
      and updated_at <= now() - $7::double precision * interval '1 second'
      and (run_at, task_id) > (w.after_run_at, w.after_task)
    order by run_at, task_id limit w.quota) q
order by w.place, q.run_at, q.task_id
limit $6
