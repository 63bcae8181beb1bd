-- The queue row is the outbox row: `sent_at` says that a broker was told.

-- name: unsent
-- Due rows of these (stage, lane) pairs that no broker knows of, in the given order of pairs, at most $6. Looks like the
-- claim, but takes nothing: two relays may name the same row, and one claim of it wins.
select q.task_id, q.lease, w.stage, w.lane, q.run_at, q.attempt, q.max_attempts, t.trace
from unnest($1::integer[], $2::bigint[], $3::integer[], $4::timestamptz[], $5::bigint[])
    with ordinality as w (stage, lane, quota, after_run_at, after_task, place)
cross join lateral (
    select task_id, lease, run_at, attempt, max_attempts from penstock.queue
    where stage = w.stage and lane = w.lane and worker is null and sent_at is null
      and run_at <= now() and (run_at, task_id) > (w.after_run_at, w.after_task)
      and exists (select from penstock.lanes l left join penstock.jobs j on j.id = l.job_id
                  where l.id = w.lane and l.paused_at is null and l.cancelled_at is null and l.max_running is null
                    and j.paused_at is null and j.cancelled_at is null)
      and exists (select from penstock.stages s where s.id = w.stage and s.paused_at is null and s.max_running is null)
    order by run_at, task_id limit w.quota) q
join penstock.tasks t on t.id = q.task_id
order by w.place, q.run_at, q.task_id
limit $6

-- name: mark_sent
-- After the broker's word. A row that was claimed meanwhile has another lease: it was announced in time, and if it waits
-- again, it has to be announced again.
update penstock.queue q set sent_at = now()
from unnest($1::bigint[], $2::bigint[]) as s (task_id, lease)
where q.task_id = s.task_id and q.lease is not distinct from s.lease and q.worker is null

-- name: waiting
-- Of tasks that were announced and could not be claimed: those that nobody has. A claim passes by rows that are locked
-- for a moment, and the relay locks them while it notes that they were sent.
select task_id from penstock.queue where task_id = any ($1::bigint[]) and worker is null

-- name: unsend
-- Their message is gone without a claim, and they still wait: the relay looks at them again.
update penstock.queue set sent_at = null where task_id = any ($1::bigint[]) and worker is null and sent_at is not null

-- name: resend_old
-- Sent, and not claimed for so long: the message is lost, or nobody serves the stage.
update penstock.queue set sent_at = null
where task_id = any (array(
    select task_id from penstock.queue
    where sent_at < now() - make_interval(secs => $1) and worker is null
    order by sent_at limit $2 for update skip locked))
returning task_id

-- name: resend_stage
-- The broker lost the whole queue of a stage.
update penstock.queue set sent_at = null
where task_id = any (array(
    select task_id from penstock.queue
    where sent_at is not null and worker is null and stage = $1
    limit $2 for update skip locked))
returning task_id

-- name: hold
-- One relay per broker. True: it is this one, until then.
insert into penstock.relays as r (transport, holder, held_until)
values ($1, $2, now() + make_interval(secs => $3))
on conflict (transport) do update set holder = excluded.holder, held_until = excluded.held_until
where r.holder = excluded.holder or r.held_until < now()
returning true

-- name: let_go
delete from penstock.relays where transport = $1 and holder = $2

-- name: held
-- For people: whether somebody relays for this broker now.
select exists (select from penstock.relays where transport = $1 and held_until > now())

-- name: installation
select id from penstock.installation

-- name: backlog
-- For people: what waits in brokers, by stage.
select stage, count(*) as sent, min(sent_at) as oldest from penstock.queue
where sent_at is not null and worker is null group by stage
