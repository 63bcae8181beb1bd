-- Embedding tasks as people see them. A page is a list of ids, newest first behind $1, and then the rows of those ids.
-- $2: the owner, null for everybody; $3: how many; $4: the pipeline.

-- name: newest
select task_id as id from penstock.task_states
where entry_stage_id = any (array(select stage_id from penstock.stage_load where pipeline = $4)) and task_id < $1
  and ($2::text is null or owner = $2)
order by task_id desc limit $3

-- name: pending
-- What waits in a cancelled lane is as good as cancelled.
select task_id as id from penstock.queued_tasks
where stage_id = any (array(select stage_id from penstock.stage_load where pipeline = $4)) and not running
  and not cancelled and task_id < $1 and ($2::text is null or owner = $2)
order by task_id desc limit $3

-- name: processing
select task_id as id from penstock.queued_tasks
where stage_id = any (array(select stage_id from penstock.stage_load where pipeline = $4)) and running
  and task_id < $1 and ($2::text is null or owner = $2)
order by task_id desc limit $3

-- name: failed
-- Apart from the other endings, so that its own index is used: failures are few.
select task_id as id from penstock.task_outcomes
where status = 3 and stage_id = any (array(select stage_id from penstock.stage_load where pipeline = $4))
  and task_id < $1 and ($2::text is null or owner = $2)
order by task_id desc limit $3

-- name: ended
-- In one of the states $5.
select task_id as id from penstock.task_outcomes
where status = any ($5::smallint[]) and stage_id = any (array(select stage_id from penstock.stage_load where pipeline = $4))
  and task_id < $1 and ($2::text is null or owner = $2)
order by task_id desc limit $3

-- name: rows
-- All about these tasks. The error of one that waits again is that of its last run. When a run that ended the task began
-- is noted in its result, where there is one.
select t.task_id, t.owner, t.input::text as input, t.created_at, a.slug, g.name as generation, t.status as state,
       t.attempts, coalesce(t.max_attempts, (t.options ->> 'max_attempts')::integer, s.max_attempts) as max_attempts,
       coalesce(t.priority, 0) as priority, t.run_at, case when t.finished_at is null then t.updated_at end as updated_at,
       t.finished_at as ended_at, t.result::text as result, coalesce(t.error, h.error)::text as error
from penstock.task_states t
join penstock.stage_load s on s.stage_id = t.entry_stage_id and s.pipeline = $2
left join article_search.articles a on a.id = (t.input ->> 'article')::bigint
left join article_search.generations g on g.id = (t.input ->> 'generation')::integer
left join lateral (
    select error from penstock.task_history
    where task_id = t.task_id and cause <> 'reprocess' and t.finished_at is null order by at desc limit 1) h on true
where t.task_id = any ($1::bigint[])
order by t.task_id desc

-- name: of_articles
-- What a generation holds of some articles, and how the tasks of their current texts are doing.
select a.article_id, i.revision as indexed_revision, i.embedded_at,
       t.status, coalesce(t.attempts, 0) as attempts, coalesce(t.max_attempts, s.max_attempts, 0) as max_attempts,
       case when t.status <> 1 then t.run_at end as next_run_at, coalesce(t.error, f.error)::text as error
from unnest($1::bigint[], $2::bigint[]) a (article_id, task_id)
left join article_search.indexed i on i.article_id = a.article_id and i.generation = $3 and i.chunks > 0
left join penstock.task_states t on t.task_id = a.task_id
left join penstock.stage_load s on s.stage_id = t.stage_id
left join lateral (  -- why it is tried again
    select h.error from penstock.task_history h
    where h.task_id = t.task_id and t.finished_at is null order by h.at desc, h.lease desc limit 1
) f on true
