-- Trouble with embedding, and who was told about it. A row of `alerts` moves by compare-and-set, so that of all the
-- processes that look, one tells. `details` holds what the sentence is made of, and two marks: `closed_at` (and `since`)
-- of one that is over but not told yet, `sending_until` while somebody tells it.

-- name: signs
-- Everything an alert is decided by. What is paused does not wait for a worker, and so is not due.
-- $2: for how long work has to be due to be backed up; $3: for how long a worker has to be away; $4: where counting stops.
with own as (
    select stage_id, paused from penstock.stage_load where pipeline = $1
), open as (
    -- Lanes that may be served.
    select l.lane_id, s.stage_id
    from penstock.lane_states l cross join own s
    where l.pipeline = $1 and not l.cancelled and not l.paused and not s.paused
), due as (
    -- The first entry of the index of each lane.
    select min(first.run_at) as oldest_at
    from open cross join lateral (
        select q.run_at from penstock.queued_tasks q
        where q.stage_id = open.stage_id and q.lane_id = open.lane_id and not q.running and q.run_at <= now()
        order by q.run_at limit 1) first
), waiting as (
    -- Whether there are too many is enough to know: a long queue would take long to count.
    select count(*) as backed from (
        select from open cross join lateral (
            select from penstock.queued_tasks q
            where q.stage_id = open.stage_id and q.lane_id = open.lane_id and not q.running
              and q.run_at <= now() - $2 * interval '1 second'
            order by q.run_at limit $4) late
        limit $4) counted
), failures as (
    select count(*) as failures, max(o.finished_at) as last_failure_at,
           (array_agg(o.error ->> 'message' order by o.finished_at desc))[1] as last_error
    from penstock.task_outcomes o
    where o.status = 3 and o.finished_at >= now() - interval '1 hour' and o.stage_id in (select stage_id from own)
), workers as (
    select coalesce(bool_or(w.live), false) as live, max(coalesce(w.stopped_at, w.heartbeat_at)) as seen_at
    from penstock.worker_states w where w.stage_ids && array(select stage_id from own)
)
select waiting.backed, due.oldest_at, failures.failures, failures.last_failure_at, left(failures.last_error, 300) as last_error,
       workers.seen_at, now() as read_at,
       not workers.live and due.oldest_at <= now() - $3 * interval '1 second'
           and coalesce(workers.seen_at <= now() - $3 * interval '1 second', true) as silent
from due, waiting, failures, workers

-- name: open
-- Only where it is not open: of many that see the trouble, one opens it.
insert into article_search.alerts as a (kind, opened_at, told_at, details) values ($1, now(), null, $2::text::jsonb)
on conflict (kind) do update set opened_at = now(), told_at = null, details = excluded.details
where a.opened_at is null
returning kind

-- name: refresh
-- The figures of an open one, for whoever asks or is told again.
update article_search.alerts
set details = $2::text::jsonb || case when details ? 'sending_until'
                                      then jsonb_build_object('sending_until', details -> 'sending_until') else '{}' end
where kind = $1 and opened_at is not null

-- name: close
-- It is told that it is over, where anybody was told, or is being told, that it began.
with was as (
    select kind, opened_at, told_at is not null or details ? 'sending_until' as known
    from article_search.alerts where kind = $1 and opened_at is not null for update
)
update article_search.alerts a
set opened_at = null, told_at = null,
    details = case when was.known then a.details || jsonb_build_object('since', was.opened_at, 'closed_at', now())
                   else '{}' end
from was where a.kind = was.kind
returning was.opened_at, was.known

-- name: take
-- Those that are to be told now: new, an hour after the last time, or over. Whoever takes one has $1 seconds for it.
update article_search.alerts a
set details = details || jsonb_build_object('sending_until', now() + $1 * interval '1 second')
where (opened_at is not null and (told_at is null or told_at <= now() - $2 * interval '1 second')
       or opened_at is null and details ? 'closed_at')
  and coalesce((details ->> 'sending_until')::timestamptz, '-infinity') < now()
returning kind, opened_at, told_at, details::text as details

-- name: told
-- It was taken by whoever listens. One that has ended meanwhile keeps its mark, and is told next.
update article_search.alerts
set told_at = case when opened_at is not null then now() end,
    details = case when opened_at is null and $2::timestamptz is null then '{}' else details - 'sending_until' end
where kind = $1 and (opened_at is not distinct from $2 or opened_at is null)

-- name: not_told
-- The next watch tries again.
update article_search.alerts set details = details - 'sending_until'
where kind = $1 and (opened_at is not distinct from $2 or opened_at is null)

-- name: opened
select kind, opened_at, told_at, details::text as details from article_search.alerts
where opened_at is not null order by opened_at, kind
