-- name: count
-- How much of the articles a generation stands for. Both sides are read from indexes alone.
select count(*) as total, count(*) filter (where i.revision >= a.revision) as indexed,
       count(*) filter (where i.revision < a.revision) as stale, clock_timestamp() as as_of
from article_search.articles a
left join article_search.indexed i on i.article_id = a.id and i.generation = $1

-- name: breakdown
-- Why the others are not there: their embedding waits, has failed, or nobody asked for it.
select count(*) filter (where t.status in (0, 1)) as waiting, count(*) filter (where t.status = 3) as failed,
       count(*) filter (where t.status is null or t.status not in (0, 1, 3)) as missing
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
left join penstock.task_states t on t.task_id = r.task_id
where not exists (select from article_search.indexed i where i.article_id = a.id and i.generation = $1)

-- name: chunks
-- Vectors of a generation by what is noted of each article, for who is about to drop it.
select coalesce(sum(chunks), 0)::bigint from article_search.indexed where generation = $1
