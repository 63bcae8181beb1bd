-- The newest dead letters, as little of each as grouping needs. Both queries look at a bounded number of rows.

-- name: newest
-- Of everybody, or of one owner, behind a time.
with seen as materialized (
    select task_id, finished_at, stage, error from penstock.outcomes
    where status = 3 and finished_at >= now() - $1 * interval '1 hour'
    order by finished_at desc, task_id desc limit $2
), matching as (
    -- Owners stand in `tasks`: a lookup by primary key for each row that was seen.
    select * from seen
    where $3::text is null or exists (select from penstock.tasks t where t.id = seen.task_id and t.owner = $3)
    order by finished_at desc, task_id desc limit $4
)
select (select count(*) from seen) as looked, m.task_id, m.finished_at, s.pipeline, s.name as stage,
       m.error ->> 'type' as type, m.error ->> 'class' as kind, m.error ->> 'where' as place,
       left(m.error ->> 'message', $5) as message
from (select) one
left join matching m on true
left join penstock.stages s on s.id = m.stage
order by m.finished_at desc, m.task_id desc

-- name: of_job
-- Of one job, straight from its index.
select o.task_id, o.finished_at, s.pipeline, s.name as stage, o.error ->> 'type' as type,
       o.error ->> 'class' as kind, o.error ->> 'where' as place, left(o.error ->> 'message', $4) as message
from (
    select task_id, finished_at, stage, error from penstock.outcomes
    where job_id = $1 and status = 3 and finished_at >= now() - $2 * interval '1 hour'
    order by finished_at desc, task_id desc limit $3) o
join penstock.stages s on s.id = o.stage
order by o.finished_at desc, o.task_id desc

-- name: of_job_backwards
-- Failures of one job behind a place, newest first: a window in which somebody looks for those of one group.
select task_id, finished_at, error ->> 'type' as type, error ->> 'where' as place, left(error ->> 'message', $7) as message
from penstock.outcomes
where job_id = $1 and status = 3 and (finished_at, task_id) < ($2, $3) and finished_at >= $4 and finished_at < $5
order by finished_at desc, task_id desc limit $6

-- name: of_job_forwards
-- The same, oldest first.
select task_id, finished_at, error ->> 'type' as type, error ->> 'where' as place, left(error ->> 'message', $7) as message
from penstock.outcomes
where job_id = $1 and status = 3 and (finished_at, task_id) > ($2, $3) and finished_at >= $4 and finished_at < $5
order by finished_at, task_id limit $6
