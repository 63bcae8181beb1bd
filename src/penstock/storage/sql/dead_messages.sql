-- Messages nobody could read, collected from the brokers' dead-letter queues.

-- name: keep
-- What was collected before and not forgotten by the broker comes again: it is kept once. One that was sent again and
-- died once more in the same form is open again. Answers those that were new or opened.
insert into penstock.dead_messages as m (transport, queue, raw, reason, deliveries, died_at, digest, token)
select $1, g.queue, g.raw, g.reason, g.deliveries, g.died_at, g.digest, g.token
from unnest($2::text[], $3::bytea[], $4::text[], $5::integer[], $6::timestamptz[], $7::bytea[], $8::text[])
    as g (queue, raw, reason, deliveries, died_at, digest, token)
on conflict (transport, token, digest) do update
set replayed_at = null, replayed_by = null, edited = false, arrived_at = now(), reason = excluded.reason,
    deliveries = excluded.deliveries, died_at = excluded.died_at
where m.replayed_at is not null
returning m.id, m.reason, m.token, m.digest

-- name: page
-- Newest first behind a position. `open` null: those that were sent again as well.
select id, transport, queue, octet_length(raw) as size_bytes, substring(raw for 200) as beginning, reason, deliveries,
       died_at, arrived_at, replayed_at, replayed_by, edited, now() as read_at
from penstock.dead_messages
where id < $1 and ($2::text is null or transport = $2) and ($3::text[] is null or queue = any ($3))
  and ($4::boolean is null or (replayed_at is null) = $4)
order by id desc limit $5

-- name: get
select id, transport, queue, octet_length(raw) as size_bytes, raw, reason, deliveries, died_at, arrived_at, replayed_at,
       replayed_by, edited, digest, now() as read_at
from penstock.dead_messages where id = $1

-- name: take
-- Sent again by this person. Whoever comes second waits for the first one's transaction, and gets nothing.
update penstock.dead_messages set replayed_at = now(), replayed_by = $2, edited = $3
where id = $1 and replayed_at is null
returning id

-- name: back
-- Of bytes that were sent again: those that died once more since, with the reason they had.
select d.id, d.reason from penstock.dead_messages d
join unnest($1::bytea[], $2::text[]) as s (digest, reason) on s.digest = d.digest
where d.replayed_at is null and d.arrived_at > $3 and ($4 or d.reason = s.reason)
order by d.id desc

-- name: discard
-- Evidence is deleted, tasks are not: a message is only a reference.
delete from penstock.dead_messages where id = any ($1::bigint[]) returning id

-- name: open_counts
-- For the gauge, the doctor and the list of dead letters.
select transport, count(*) as n from penstock.dead_messages where replayed_at is null group by transport order by transport

-- name: expire
-- As long as finished tasks are kept, counted from the day they were collected.
delete from penstock.dead_messages
where id = any (array(select id from penstock.dead_messages
                      where arrived_at < now() - make_interval(secs => $1) order by id limit $2))
returning id

-- name: standing
-- Where the task of a message that was sent again stands: nobody has it (0), somebody works on it (1), it has ended or
-- was never there (2).
select case when q.task_id is null then 2 when q.worker is null then 0 else 1 end as standing
from (select $1::bigint as id) asked left join penstock.queue q on q.task_id = asked.id

-- name: now
-- What dies after this came of the replay.
select now()
