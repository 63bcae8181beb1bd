-- Embedding tasks as people see them. A page is a list of ids, newest first behind $1, and then the rows of those ids.
-- $2: the owner, null for everybody; $3: how many; $4: the pipeline.

-- name: newest
select t.id from penstock.tasks t
where t.entry = any (array(select s.id from penstock.stages s where s.pipeline = $4)) and t.id < $1
  and ($2::text is null or t.owner = $2)
order by t.id desc limit $3

-- name: pending
-- What waits in a cancelled lane is as good as cancelled.
select q.task_id as id
from penstock.queue q
join penstock.lanes l on l.id = q.lane and l.cancelled_at is null
join penstock.tasks t on t.id = q.task_id
where q.stage = any (array(select s.id from penstock.stages s where s.pipeline = $4)) and q.worker is null
  and q.task_id < $1 and ($2::text is null or t.owner = $2)
order by q.task_id desc limit $3

-- name: processing
select q.task_id as id
from penstock.queue q join penstock.tasks t on t.id = q.task_id
where q.stage = any (array(select s.id from penstock.stages s where s.pipeline = $4)) and q.worker is not null
  and q.task_id < $1 and ($2::text is null or t.owner = $2)
order by q.task_id desc limit $3

-- name: failed
-- Apart from the other endings, so that its own index is used: failures are few.
select o.task_id as id
from penstock.outcomes o join penstock.tasks t on t.id = o.task_id
where o.status = 3 and o.stage = any (array(select s.id from penstock.stages s where s.pipeline = $4))
  and o.task_id < $1 and ($2::text is null or t.owner = $2)
order by o.task_id desc limit $3

-- name: ended
-- In one of the states $5.
select o.task_id as id
from penstock.outcomes o join penstock.tasks t on t.id = o.task_id
where o.status = any ($5::smallint[]) and o.stage = any (array(select s.id from penstock.stages s where s.pipeline = $4))
  and o.task_id < $1 and ($2::text is null or t.owner = $2)
order by o.task_id desc limit $3

-- name: rows
-- All about these tasks. The error of one that waits again is that of its last run. When a run that ended the task began
-- is noted in its result, where there is one.
select t.id as task_id, t.owner, t.input::text as input, t.created_at, a.slug, g.name as generation,
       case when q.worker is not null then 1
            when q.task_id is not null then case when l.cancelled_at is null then 0 else 6 end
            else o.status end as state,
       coalesce(q.attempt, o.attempts)::integer as attempts,
       coalesce(q.max_attempts, (t.options ->> 'max_attempts')::integer, s.max_attempts)::integer as max_attempts,
       coalesce(l.priority, 0)::integer as priority,
       q.run_at, q.updated_at, o.finished_at as ended_at, o.result::text as result,
       coalesce(o.error, h.error)::text as error
from unnest($1::bigint[]) as wanted (id)
join penstock.tasks t on t.id = wanted.id
join penstock.stages s on s.id = t.entry and s.pipeline = $2
left join penstock.queue q on q.task_id = t.id
left join penstock.outcomes o on o.task_id = t.id
left join penstock.lanes l on l.id = coalesce(q.lane, o.lane)
left join article_search.articles a on a.id = (t.input ->> 'article')::bigint
left join article_search.generations g on g.id = (t.input ->> 'generation')::integer
left join lateral (
    select error from penstock.attempts
    where task_id = t.id and cause <> 'reprocess' and q.task_id is not null order by at desc limit 1) h on true
order by t.id desc
