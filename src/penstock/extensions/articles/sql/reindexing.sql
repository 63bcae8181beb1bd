-- Which articles a re-index takes, and which one runs already.

-- name: page
-- The next articles of a re-index by id, so that a million of them need no memory. The join reads the key of `indexed`
-- only. $9: but those whose embedding has failed since they were saved.
with failed as materialized (
    -- Dead letters are few beside the articles, so their articles are one set; read only where it is asked for.
    select (input ->> 'article')::bigint as id, max(finished_at) as at
    from penstock.task_outcomes
    where ($9::boolean or $3::text = 'failed') and status = 3 and pipeline = $8 and (input ->> 'generation')::integer = $1
    group by 1
)
select a.id
from article_search.articles a
left join article_search.indexed i on i.article_id = a.id and i.generation = $1
left join failed f on f.id = a.id
where a.id > $2
  and ($4::text is null or a.owner = $4)
  and ($5::timestamptz is null or a.updated_at >= $5)
  and ($6::timestamptz is null or a.updated_at < $6)
  and not ($9 and coalesce(f.at >= a.updated_at, false))
  and case $3::text
      when 'all' then true
      when 'missing' then i.article_id is null
      when 'stale' then i.revision < a.revision
      when 'outdated' then i.article_id is null or i.revision < a.revision
      else (i.article_id is null or i.revision < a.revision) and f.id is not null
      end
order by a.id limit $7

-- name: plan
-- The same articles counted, with their chunks by the size of their texts: octet_length of a long text reads its
-- header only. The text of a title makes a chunk also where the content is empty.
select count(*) as articles,
       coalesce(sum(greatest(1, ceil((octet_length(r.content) - $8::integer)::numeric / ($7::integer - $8::integer)))), 0)::bigint
           as chunks
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
left join article_search.indexed i on i.article_id = a.id and i.generation = $1
where ($3::text is null or a.owner = $3)
  and ($4::timestamptz is null or a.updated_at >= $4)
  and ($5::timestamptz is null or a.updated_at < $5)
  and case $2::text
      when 'all' then true
      when 'missing' then i.article_id is null
      when 'stale' then i.revision < a.revision
      when 'outdated' then i.article_id is null or i.revision < a.revision
      else (i.article_id is null or i.revision < a.revision) and a.id in (
          select (o.input ->> 'article')::bigint from penstock.task_outcomes o
          where o.status = 3 and o.pipeline = $6 and (o.input ->> 'generation')::integer = $1)
      end

-- name: speed
-- Chunks per second of the newest entries while there was work: pauses of more than two seconds are left out with the
-- entry behind them.
select sum(chunks) / nullif(extract(epoch from sum(gap)), 0)::double precision as per_second, count(*) as measured
from (
    select chunks, embedded_at - lag(embedded_at) over (order by embedded_at) as gap
    from (
        select chunks, embedded_at from article_search.indexed
        where generation = $1 order by embedded_at desc limit 1000) newest) paced
where gap < interval '2 seconds'

-- name: embedded_lately
-- Chunks that came in the last seconds, for whoever watches.
select coalesce(sum(chunks), 0)::bigint from article_search.indexed
where generation = $1 and embedded_at > now() - make_interval(secs => $2)

-- name: only_one_at_a_time
-- Two equal re-indexes that start together would both see none running. Held until the transaction ends.
select pg_try_advisory_xact_lock(hashtext('article_search'), hashtext('reindex'))

-- name: unfinished
-- Jobs of the pipeline that still hold tasks, with what they were asked for and how many wait.
select j.job_id, j.metadata::text as metadata, j.paused_at is not null as paused, sum(c.present)::bigint as present
from penstock.lane_states l
join penstock.job_states j on j.job_id = l.job_id
cross join lateral (
    select coalesce(sum(unfinished), 0) as present from penstock.task_counts where lane_id = l.lane_id) c
where l.active and l.pipeline = $1 and j.cancelled_at is null and j.deleted_at is null
group by j.job_id, j.metadata, j.paused_at having sum(c.present) > 0
order by j.job_id
