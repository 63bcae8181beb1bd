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

-- name: standing
-- The state of each of these tasks now, as lists show it; whether it waits for a time to come; whether a copy stands for it.
select task_id, job_id, status, updated_at as at, coalesce(status = 0 and run_at > now(), false) as later, replaced as edited
from penstock.task_states where task_id = any ($1::bigint[])

-- name: later
-- How many tasks of these jobs wait for a time to come; a look at no more than $2.
select count(*) from (
    select from penstock.lane_states l
    join penstock.stage_load s on s.pipeline = l.pipeline
    join penstock.queued_tasks q on q.stage_id = s.stage_id and q.lane_id = l.lane_id and not q.running and q.run_at > now()
    where l.job_id = any ($1::bigint[]) and not l.cancelled limit $2) found

-- name: internal
-- Those of these tasks that Penstock made itself, to do something with others.
select t.task_id from penstock.task_states t
where t.task_id = any ($1::bigint[])
  and starts_with((select j.pipeline from penstock.job_states j where j.job_id = t.job_id), 'penstock.')
