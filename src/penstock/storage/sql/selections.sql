-- What somebody chose, and what is done with it, a batch at a time.

-- name: create
-- Of one owner's that nothing was done with, the newest $8 are kept, this one among them. What is done with others reads
-- them; used_at is looked at again for one that somebody has begun to use meanwhile.
with forgotten as (
    delete from penstock.selections where used_at is null and id = any (array(
        select id from penstock.selections where owner = $1 and used_at is null order by id desc offset $8 - 1))
)
insert into penstock.selections (owner, filter, picked, left_out, n, estimate, expires_at)
values ($1, $2::text::jsonb, $3::bigint[], $4::bigint[], $5, $6, now() + $7 * interval '1 second')
returning id, created_at, expires_at

-- name: get
select id, owner, filter::text as filter, picked, left_out, n, estimate, created_at, expires_at, expires_at <= now() as expired
from penstock.selections where id = $1

-- name: use
-- Before anything is done with it: from now on it is kept until it expires.
update penstock.selections set used_at = now() where id = $1 returning id

-- name: forget
-- Long after they could be used last: what is done with one may go on for a while.
delete from penstock.selections where id in (
    select id from penstock.selections where expires_at < now() - $1 * interval '1 second' order by expires_at limit $2)

-- name: ended
-- Of these tasks those that have ended in one of the states by then, held until the transaction ends: what ends again
-- afterwards is another ending, and is not taken twice. Without jobs that were deleted.
select o.task_id, o.job_id from penstock.outcomes o
where o.task_id = any ($1::bigint[]) and o.status = any ($2::smallint[]) and o.finished_at <= $3
  -- What was edited lives on in its copy.
  and not (o.status = 5 and o.error is not null and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id')
  and not exists (select from penstock.jobs j where j.id = o.job_id and j.deleted_at is not null)
order by o.task_id for update of o

-- name: hasten
-- What waits for a time to come starts now.
with held as (
    select q.task_id, l.job_id from penstock.queue q join penstock.lanes l on l.id = q.lane and l.cancelled_at is null
    where q.task_id = any ($1::bigint[]) and q.worker is null and q.run_at > now()
    order by q.task_id for update of q
), started as (
    update penstock.queue set run_at = now(), updated_at = now() where task_id = any (array(select task_id from held))
)
select task_id, job_id from held

-- name: cancel
-- Waiting ones end at once; running ones are asked to stop where $4 says so, and end when their worker lets go. Tasks that were
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

-- name: standing
-- The state of each of these tasks now, as lists show it; whether it waits for a time to come; whether a copy stands for it.
select t.id as task_id, t.job_id,
       case when q.worker is not null then 1
            when q.task_id is not null then case when l.cancelled_at is null then 0 else 6 end
            else o.status end as status,
       coalesce(q.updated_at, o.finished_at) as at,
       coalesce(q.worker is null and q.run_at > now() and l.cancelled_at is null, false) as later,
       coalesce(o.status = 5 and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id', false) as edited
from unnest($1::bigint[]) as wanted (id)
join penstock.tasks t on t.id = wanted.id
left join penstock.queue q on q.task_id = t.id
left join penstock.lanes l on l.id = q.lane
left join penstock.outcomes o on o.task_id = t.id
where q.task_id is not null or o.task_id is not null

-- name: later
-- How many tasks of these jobs wait for a time to come; a look at no more than $2.
select count(*) from (
    select from penstock.lanes l
    join penstock.stages s on s.pipeline = l.pipeline
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null and q.run_at > now()
    where l.job_id = any ($1::bigint[]) and l.cancelled_at is null limit $2) found

-- name: internal
-- Those of these tasks that Penstock made itself, to do something with others.
select t.id from penstock.tasks t join penstock.jobs j on j.id = t.job_id
where t.id = any ($1::bigint[]) and starts_with(j.pipeline, 'penstock.')
