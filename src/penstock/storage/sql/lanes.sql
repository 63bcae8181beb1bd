-- name: active
-- What workers of these pipelines rotate over; first by priority, then by id.
select id, pipeline, priority, weight, max_running, paused_at is not null as paused
from penstock.lanes
where pipeline = any ($1::text[]) and cancelled_at is null
  and (active or id = any (array(select lane from penstock.wakes)))
order by priority, id

-- name: open
select penstock.open_lane($1, $2, $3, $4, $5)

-- name: of_job
select id, pipeline, key, priority, weight, max_running, active, paused_at, paused_by, pause_reason, cancelled_at,
       cancelled_by
from penstock.lanes where job_id = $1 order by id

-- name: pause_job
update penstock.lanes set paused_at = coalesce(paused_at, now()), paused_by = $2, pause_reason = $3
where job_id = $1 and cancelled_at is null returning id

-- name: resume_job
update penstock.lanes set paused_at = null, paused_by = null, pause_reason = null
where job_id = $1 and cancelled_at is null returning id

-- name: cancel_job
-- Touches the lane only; `sweep_cancelled` ends the rows, running ones are told with the next heartbeat.
update penstock.lanes set cancelled_at = now(), cancelled_by = $2, active = true
where job_id = $1 and cancelled_at is null returning id

-- name: pause
update penstock.lanes set paused_at = coalesce(paused_at, now()), paused_by = $3, pause_reason = $4
where pipeline = $1 and key = $2 and cancelled_at is null returning id

-- name: resume
update penstock.lanes set paused_at = null, paused_by = null, pause_reason = null
where pipeline = $1 and key = $2 and cancelled_at is null returning id

-- name: cancel
update penstock.lanes set cancelled_at = now(), cancelled_by = $3, active = true
where pipeline = $1 and key = $2 and cancelled_at is null returning id

-- name: configure
-- Weight and limit of a lane, all its priorities.
update penstock.lanes set weight = coalesce($3, weight), max_running = case when $4 then $5 else max_running end
where pipeline = $1 and key = $2 and cancelled_at is null returning id

-- name: reprioritise_job
-- A job with lanes of several priorities: they meet in one, so all but the first give up the job's key.
with placed as (
    select id, row_number() over (order by priority = $2 desc, id) as place
    from penstock.lanes where job_id = $1 and cancelled_at is null
)
update penstock.lanes l
set priority = $2, key = case when p.place = 1 then l.key else l.key || '~' || l.id end
from placed p where l.id = p.id returning l.id

-- name: activate_woken
-- Lanes that hold work again. Only wakes that are committed are seen, and taken.
with woken as (
    delete from penstock.wakes returning lane
), ids as (
    -- In id order, so that two of these cannot deadlock.
    select l.id from penstock.lanes l where l.id in (select lane from woken) and not l.active order by l.id for no key update
)
update penstock.lanes set active = true where id in (select id from ids) returning id

-- name: lock_idle_candidates
-- First half of the clean-up: hold lanes that look empty. Enqueuers hold a key-share lock on their lane until
-- they commit, so a lane with an enqueue under way is skipped.
select l.id from penstock.lanes l
where l.active and l.opened_at < now() - $2 * interval '1 second'
  and not exists (
    select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null
    where s.pipeline = l.pipeline)
  and not exists (
    select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where s.pipeline = l.pipeline)
order by l.id limit $1
for update of l skip locked

-- name: deactivate
-- Second half, in a statement of its own: its snapshot is newer than the locks, so what was enqueued before
-- them is seen.
update penstock.lanes l set active = false
where l.id = any ($1::bigint[])
  and not exists (
    select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null
    where s.pipeline = l.pipeline)
  and not exists (
    select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where s.pipeline = l.pipeline)
returning l.id
