-- name: of_articles
-- What a generation holds of some articles, and how the tasks of their current texts are doing.
select a.article_id, i.revision as indexed_revision, i.embedded_at,
       case when q.worker is not null then 1 when l.cancelled_at is not null then 6 when q.task_id is not null then 0
            else o.status end as status,
       coalesce(q.attempt, o.attempts, 0) as attempts, coalesce(q.max_attempts, s.max_attempts, 0) as max_attempts,
       case when q.worker is null then q.run_at end as next_run_at, coalesce(o.error, f.error)::text as error
from unnest($1::bigint[], $2::bigint[]) a (article_id, task_id)
left join article_search.indexed i on i.article_id = a.article_id and i.generation = $3 and i.chunks > 0
left join penstock.queue q on q.task_id = a.task_id
left join penstock.lanes l on l.id = q.lane  -- what is cancelled as a whole leaves the queue a little later
left join penstock.outcomes o on o.task_id = a.task_id and q.task_id is null
left join penstock.stages s on s.id = o.stage
left join lateral (  -- why it is tried again
    select t.error from penstock.attempts t where t.task_id = q.task_id order by t.at desc, t.lease desc limit 1
) f on true
