-- name: served
-- What workers of these pipelines rotate over, first by priority, then by id, and the limits of every stage: the rows
-- without a priority. One statement, because an idle worker asks before each claim.
select id, pipeline, priority, weight, max_running, paused_at is not null as paused
from penstock.lanes
where pipeline = any ($1::text[]) and cancelled_at is null
  and (active or id = any (array(select lane from penstock.wakes)))
union all
select id, pipeline, null, null, max_running, paused_at is not null from penstock.stages
order by priority, id

-- name: served_of_job
-- The same for somebody who works on one job only. A job has few lanes, so all of them are looked at.
select id, pipeline, priority, weight, max_running, paused_at is not null as paused
from penstock.lanes where job_id = $1 and cancelled_at is null
union all
select id, pipeline, null, null, max_running, paused_at is not null from penstock.stages
order by priority, id

-- name: open
select penstock.open_lane($1, $2, $3, $4, $5)

-- name: of_job
select id, pipeline, key, priority, weight, max_running, active, paused_at, paused_by, pause_reason, cancelled_at,
       cancelled_by
from penstock.lanes where job_id = $1 order by id

-- name: follow_jobs
-- Lanes do what was decided about their job. The decision reaches the lanes it sees; this reaches those that an open
-- transaction held back. The lock shows the newest decision, and keeps the next one away until this is stored.
with decided as (
    select j.id, j.paused_at, j.paused_by, j.pause_reason, j.cancelled_at, j.cancelled_by from penstock.jobs j
    where j.id = any (array(
        select l.job_id from penstock.lanes l join penstock.jobs k on k.id = l.job_id
        where l.active and l.cancelled_at is null
          and (k.cancelled_at is not null or (k.paused_at is null) <> (l.paused_at is null))
        limit 1000))
    order by j.id for share
), held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select l.id, l.job_id from penstock.lanes l
    where l.job_id = any (array(select id from decided)) and l.cancelled_at is null
    order by l.id for no key update
)
update penstock.lanes l
set paused_at = d.paused_at, paused_by = d.paused_by, pause_reason = d.pause_reason, cancelled_at = d.cancelled_at,
    cancelled_by = d.cancelled_by
from decided d, held h where l.id = h.id and h.job_id = d.id
returning l.id

-- name: pause
with held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select id from penstock.lanes
    where pipeline = $1 and key = $2 and cancelled_at is null and job_id is null order by id for no key update
)
update penstock.lanes l set paused_at = coalesce(l.paused_at, now()), paused_by = $3, pause_reason = $4
from held where l.id = held.id returning l.id

-- name: resume
with held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select id from penstock.lanes
    where pipeline = $1 and key = $2 and cancelled_at is null and job_id is null order by id for no key update
)
update penstock.lanes l set paused_at = null, paused_by = null, pause_reason = null
from held where l.id = held.id returning l.id

-- name: cancel
with held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select id from penstock.lanes
    where pipeline = $1 and key = $2 and cancelled_at is null and job_id is null order by id for no key update
)
update penstock.lanes l set cancelled_at = now(), cancelled_by = $3, active = true
from held where l.id = held.id returning l.id

-- name: job_of_key
select job_id from penstock.lanes where pipeline = $1 and key = $2 and job_id is not null order by id desc limit 1

-- name: configure
-- Weight and limit of a lane, all its priorities.
with held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select id from penstock.lanes
    where pipeline = $1 and key = $2 and cancelled_at is null order by id for no key update
)
update penstock.lanes l set weight = coalesce($3, l.weight), max_running = case when $4 then $5 else l.max_running end
from held where l.id = held.id returning l.id

-- name: reprioritise_job
-- A job with lanes of several priorities: they meet in one, so all but the first give up the job's key.
with held as (
    -- In id order, as claims under a limit take them: no deadlock with those.
    select id, priority from penstock.lanes where job_id = $1 and cancelled_at is null order by id for no key update
), placed as (
    select id, row_number() over (order by priority = $2 desc, id) as place from held
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

-- name: activate_stranded
-- Lanes at rest that hold waiting rows nobody would look for: rows that came past `enqueue`, a restored table. Steps
-- from lane to lane along the index, so it costs a probe per lane that holds something.
with recursive holding as (
    (select stage, lane from penstock.queue where worker is null order by stage, lane limit 1)
    union all
    select n.stage, n.lane from holding h
    cross join lateral (
        select stage, lane from penstock.queue
        where worker is null and (stage, lane) > (h.stage, h.lane) order by stage, lane limit 1) n
), ids as (
    select id from penstock.lanes where not active and id = any (array(select lane from holding))
    order by id for no key update
)
update penstock.lanes l set active = true from ids where l.id = ids.id returning l.id

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
update penstock.lanes l set active = false, rested_at = now()
where l.id = any ($1::bigint[])
  and not exists (
    select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null
    where s.pipeline = l.pipeline)
  and not exists (
    select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where s.pipeline = l.pipeline)
returning l.id

-- name: lock_expired
-- Lanes of owners and named ones that have been at rest for longer than tasks are kept; those of jobs go with their job.
-- What a person decided about a lane (a pause, a weight, a limit) is kept for its next task. Whoever enqueues into a lane
-- holds it until the commit, and such a lane is skipped.
select l.id from penstock.lanes l
where not l.active and l.job_id is null and l.rested_at < now() - $1 * interval '1 second'
  and (l.cancelled_at is not null or l.paused_at is null and l.weight = 1 and l.max_running is null)
order by l.rested_at limit $2
for update of l skip locked

-- name: expire
-- In a statement of its own, whose snapshot is newer than the locks: only what is still at rest, holds no row, was not
-- woken and has nothing to be folded. An enqueue that waited for the lock finds no lane and opens a new one.
with gone as (
    delete from penstock.lanes l
    where l.id = any ($1::bigint[]) and not l.active
      and not exists (select from penstock.wakes w where w.lane = l.id)
      and not exists (select from penstock.counts c where c.lane = l.id and not c.folded)
      and not exists (
        select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null
        where s.pipeline = l.pipeline)
      and not exists (
        select from penstock.stages s join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
        where s.pipeline = l.pipeline)
    returning l.id
), counts as (
    delete from penstock.counts where lane = any (array(select id from gone))
)
select count(*) from gone
