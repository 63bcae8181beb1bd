-- A job's tasks as people page through them: by (time of the last change, id), in any mixture of states. Each state has
-- an index of its own, so a page is the merge of the first rows of each, whatever the size of the jobs. A page of $5 rows
-- lies in the $5 jobs and lanes whose first rows come first: one look at each, and only these are read further, so that
-- thousands of jobs are listed without a cap.
-- $1 jobs, $2 states, ($3, $4) the place behind which the page starts, $5 its size, $6 and $7 the range of times.

-- name: newest
with finished as (
    select o.task_id, o.finished_at as at
    from (
        select j.id, s.status
        from unnest($1::bigint[]) as j (id) cross join unnest($2::smallint[]) as s (status)
        cross join lateral (
            select task_id, finished_at from penstock.outcomes
            where job_id = j.id and status = s.status and (finished_at, task_id) < ($3, $4)
              and finished_at >= $6 and finished_at < $7
            order by finished_at desc, task_id desc limit 1) head
        where s.status >= 2
        order by head.finished_at desc, head.task_id desc limit $5) part
    cross join lateral (
        select task_id, finished_at from penstock.outcomes
        where job_id = part.id and status = part.status and (finished_at, task_id) < ($3, $4)
          and finished_at >= $6 and finished_at < $7
        order by finished_at desc, task_id desc limit $5) o
), waiting as (
    -- What waits in a cancelled lane is as good as cancelled: upkeep writes its outcome soon.
    select q.task_id, q.updated_at as at
    from (
        select l.id
        from penstock.lanes l
        cross join lateral (
            select task_id, updated_at from penstock.queue
            where lane = l.id and worker is null and (updated_at, task_id) < ($3, $4)
              and updated_at >= $6 and updated_at < $7
            order by updated_at desc, task_id desc limit 1) head
        where l.job_id = any ($1) and penstock.task_state(null, null, l.cancelled_at) = any ($2)
        order by head.updated_at desc, head.task_id desc limit $5) part
    cross join lateral (
        select task_id, updated_at from penstock.queue
        where lane = part.id and worker is null and (updated_at, task_id) < ($3, $4)
          and updated_at >= $6 and updated_at < $7
        order by updated_at desc, task_id desc limit $5) q
), running as (
    -- Never more than the fleet can hold, so they are sorted as they are.
    select q.task_id, q.updated_at as at
    from penstock.lanes l
    join penstock.stages s on s.pipeline = l.pipeline
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where l.job_id = any ($1) and 1 = any ($2) and (q.updated_at, q.task_id) < ($3, $4)
      and q.updated_at >= $6 and q.updated_at < $7
)
select task_id, at from finished union all select task_id, at from waiting union all select task_id, at from running
order by at desc, task_id desc limit $5

-- name: oldest
with finished as (
    select o.task_id, o.finished_at as at
    from (
        select j.id, s.status
        from unnest($1::bigint[]) as j (id) cross join unnest($2::smallint[]) as s (status)
        cross join lateral (
            select task_id, finished_at from penstock.outcomes
            where job_id = j.id and status = s.status and (finished_at, task_id) > ($3, $4)
              and finished_at >= $6 and finished_at < $7
            order by finished_at, task_id limit 1) head
        where s.status >= 2
        order by head.finished_at, head.task_id limit $5) part
    cross join lateral (
        select task_id, finished_at from penstock.outcomes
        where job_id = part.id and status = part.status and (finished_at, task_id) > ($3, $4)
          and finished_at >= $6 and finished_at < $7
        order by finished_at, task_id limit $5) o
), waiting as (
    select q.task_id, q.updated_at as at
    from (
        select l.id
        from penstock.lanes l
        cross join lateral (
            select task_id, updated_at from penstock.queue
            where lane = l.id and worker is null and (updated_at, task_id) > ($3, $4)
              and updated_at >= $6 and updated_at < $7
            order by updated_at, task_id limit 1) head
        where l.job_id = any ($1) and penstock.task_state(null, null, l.cancelled_at) = any ($2)
        order by head.updated_at, head.task_id limit $5) part
    cross join lateral (
        select task_id, updated_at from penstock.queue
        where lane = part.id and worker is null and (updated_at, task_id) > ($3, $4)
          and updated_at >= $6 and updated_at < $7
        order by updated_at, task_id limit $5) q
), running as (
    select q.task_id, q.updated_at as at
    from penstock.lanes l
    join penstock.stages s on s.pipeline = l.pipeline
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where l.job_id = any ($1) and 1 = any ($2) and (q.updated_at, q.task_id) > ($3, $4)
      and q.updated_at >= $6 and q.updated_at < $7
)
select task_id, at from finished union all select task_id, at from waiting union all select task_id, at from running
order by at, task_id limit $5

-- name: by_row
-- In the order of the file. An edited copy stands where what it replaces stood, unless that is gone.
select id as task_id, created_at as at from penstock.tasks t
where job_id = $1 and id > $2
  and (replaces is null or (select o.id from penstock.tasks o where o.id = t.replaces) is null)
order by id limit $3

-- name: by_row_backwards
select id as task_id, created_at as at from penstock.tasks t
where job_id = $1 and id < $2
  and (replaces is null or (select o.id from penstock.tasks o where o.id = t.replaces) is null)
order by id desc limit $3

-- name: standing_in
-- The last copy of each of these that was edited, once or more often; a copy has a higher number than what it replaces.
-- Where a copy is gone, what it replaced is shown.
with recursive followed as (
    select o.task_id as origin, (o.error ->> 'task_id')::bigint as copy from penstock.outcomes o
    where o.task_id = any ($1::bigint[]) and o.status = 5 and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id'
    union all
    select f.origin, (o.error ->> 'task_id')::bigint from followed f join penstock.outcomes o on o.task_id = f.copy
    where o.status = 5 and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id'
)
select f.origin, max(f.copy) as copy from followed f join penstock.tasks t on t.id = f.copy group by f.origin

-- name: stood_first
-- What the first of a chain of edited copies replaced: where it stands in the order of the file.
with recursive followed as (
    select id, replaces from penstock.tasks where id = $1
    union all
    select t.id, t.replaces from followed f join penstock.tasks t on t.id = f.replaces
)
select min(id) from followed

-- name: bounds
-- The first and the last task of a job. Without edited copies, which may lie far behind, among the rows of other jobs.
select min(id) as first, max(id) as last from penstock.tasks where job_id = $1 and replaces is null

-- name: at_or_after
-- Without edited copies: their rows are not in the order of their ids.
select id, case when jsonb_typeof(input -> 'row') = 'number' and input ->> 'row' ~ '^[0-9]{1,18}$'
                then (input ->> 'row')::bigint end as row
from penstock.tasks
where job_id = $1 and id >= $2 and replaces is null order by id limit 1

-- name: rows
-- Everything a list shows about these tasks of jobs; tasks of no job are left out. So is a result that is too large for
-- a list, and the row says so.
select t.id as item_id, t.job_id, t.input::text as input, t.created_at, now() as read_at,
       coalesce(q.stage, o.stage) as stage_id, s.pipeline, s.name as stage,
       penstock.task_state(o.status, q.worker, l.cancelled_at) as status,
       coalesce(q.attempt, o.attempts)::integer as attempts, q.max_attempts::integer as max_attempts,
       q.run_at, coalesce(q.updated_at, o.finished_at) as updated_at, w.name as locked_by,
       l.paused_at as lane_paused_at, l.paused_by, l.pause_reason, s.paused_at as stage_paused_at,
       case when pg_column_size(o.result) <= 65536 then coalesce(o.result -> 'columns', o.result)::text end as result,
       pg_column_size(o.result) > 65536 as result_too_large,
       coalesce(o.error, a.error)::text as error, a.cause
from unnest($1::bigint[]) with ordinality as wanted (id, place)
join penstock.tasks t on t.id = wanted.id and t.job_id is not null
left join penstock.queue q on q.task_id = t.id
left join penstock.outcomes o on o.task_id = t.id
left join penstock.stages s on s.id = coalesce(q.stage, o.stage)
left join penstock.lanes l on l.id = coalesce(q.lane, o.lane)
left join penstock.workers w on w.id = q.worker
left join lateral (
    -- Why it is waiting again.
    select error, cause from penstock.attempts where task_id = t.id and q.task_id is not null order by at desc limit 1) a on true
order by wanted.place

-- name: jobs_at_work
-- Jobs of an owner (null: of anybody) that may hold unfinished items, all of them. Here and below without the jobs that
-- Penstock makes itself, such as an action on a selection: they are about the others. As one array: there may be many.
select coalesce(array_agg(j.id), '{}') from (
    select job_id from penstock.lanes where active and job_id is not null and ($1::text is null or owner = $1)
    union
    select l.job_id from penstock.wakes w join penstock.lanes l on l.id = w.lane where l.job_id is not null) open
join penstock.jobs j on j.id = open.job_id and j.deleted_at is null
where ($1::text is null or j.owner = $1)
  and ($2::text is null or j.metadata ->> 'type' = $2) and ($3::text is null or j.pipeline = $3)
  and not starts_with(j.pipeline, 'penstock.')

-- name: jobs_of
-- The jobs of an owner, whatever became of them.
select coalesce(array_agg(id), '{}') from penstock.jobs
where deleted_at is null and owner = $1
  and ($2::text is null or metadata ->> 'type' = $2) and ($3::text is null or pipeline = $3)
  and not starts_with(pipeline, 'penstock.')

-- name: jobs_of_all
-- The same of everybody.
select coalesce(array_agg(id), '{}') from penstock.jobs
where deleted_at is null
  and ($1::text is null or metadata ->> 'type' = $1) and ($2::text is null or pipeline = $2)
  and not starts_with(pipeline, 'penstock.')

-- name: of_job
-- Which of these tasks belong to the job.
select id from penstock.tasks where job_id = $1 and id = any ($2::bigint[])

-- name: pulse
-- The last sign of life of a job: the newest heartbeat of a worker that holds one of its tasks, or its newest ending.
select greatest(
    (select max(w.heartbeat_at) from penstock.lanes l
     join penstock.stages s on s.pipeline = l.pipeline
     join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
     join penstock.workers w on w.id = q.worker
     where l.job_id = $1),
    (select max(e.at) from unnest(array[2, 3, 4, 5, 6]::smallint[]) as k (status)
     cross join lateral (
         select finished_at as at from penstock.outcomes
         where job_id = $1 and status = k.status order by finished_at desc, task_id desc limit 1) e)) as at

-- name: due_in_job
-- Whether somebody who works on the job would find anything right now.
select exists (
    select from penstock.lanes l
    join penstock.jobs j on j.id = l.job_id and j.paused_at is null and j.cancelled_at is null
    join penstock.stages s on s.pipeline = l.pipeline and s.paused_at is null
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null and q.run_at <= now()
    where l.job_id = $1 and l.paused_at is null and l.cancelled_at is null)

-- name: next_due
-- When the first of its waiting tasks can run; no row where one can now, or none waits.
select min(first.run_at) as at from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
cross join lateral (
    select run_at from penstock.queue
    where stage = s.id and lane = l.id and worker is null order by run_at, task_id limit 1) first
where l.job_id = $1 and l.cancelled_at is null having min(first.run_at) > now()

-- name: take_turn
-- One owner's submissions one after the other; those of others do not wait.
select pg_advisory_xact_lock(hashtextextended('penstock.owner ' || $1, 0))

-- name: load_of_owner
-- What an owner has unfinished: jobs, those whose rows are still to come among them, and items from the counters.
with busy as (
    select l.job_id, c.present from (
        select id, job_id from penstock.lanes where active and owner = $1
        union
        select l.id, l.job_id from penstock.wakes w join penstock.lanes l on l.id = w.lane where l.owner = $1) l
    join penstock.jobs j on j.id = l.job_id and j.cancelled_at is null
    cross join lateral (
        select coalesce(sum(case state when 0 then n else -n end), 0) as present
        from penstock.counts where lane = l.id) c
    where c.present > 0
), coming as (
    select i.job_id from penstock.imports i join penstock.jobs j on j.id = i.job_id
    where i.state in ('waiting', 'storing') and j.owner = $1 and j.cancelled_at is null
)
select (select count(*) from (select job_id from busy union select job_id from coming) open) as jobs,
       (select coalesce(sum(present), 0)::bigint from busy) as items
