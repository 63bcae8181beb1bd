-- name: ways
-- What the server can do for this generation: compare vectors, and walk an index of them.
select to_regtype('vector(0)') is not null as compares,
       coalesce((select i.indisvalid from pg_index i
                 where i.indexrelid = to_regclass('article_search.vectors_0_near')), false) as walks

-- name: settle
-- For the transaction. 700: questions are shorter than passages and lie apart from them, so that a narrow walk misses a
-- third (docs/decisions/0014). relaxed: goes on past articles that are filtered out.
-- A plan made for any values would not know that most filters are empty.
select set_config('hnsw.ef_search', '700', true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
       set_config('plan_cache_mode', 'force_custom_plan', true)

-- name: admitted
-- The articles of a narrow filter. The limit keeps a wide one cheap.
select coalesce(array_agg(f.id), '{}') from (
    select a.id from article_search.articles a
    where ($1::text is null or a.visibility = 'shared' or a.owner = $1) and ($2::text is null or a.owner = $2)
      and ($3::timestamptz is null or a.updated_at >= $3) and ($4::timestamptz is null or a.updated_at < $4)
    limit $5
) f

-- name: among
-- Which of some candidates a filter leaves; also tells the deleted ones.
select coalesce(array_agg(a.id), '{}') from article_search.articles a
where a.id = any ($5::bigint[])
  and ($1::text is null or a.visibility = 'shared' or a.owner = $1) and ($2::text is null or a.owner = $2)
  and ($3::timestamptz is null or a.updated_at >= $3) and ($4::timestamptz is null or a.updated_at < $4)

-- name: by_index
-- Written so that the order is the index's: nothing else may be ordered by.
select v.article_id, v.ordinal, v.revision, v.starts, v.ends,
       -(v.embedding::vector(0) <#> $5::real[]::vector(0)) as similarity
from article_search.vectors_0 v join article_search.articles a on a.id = v.article_id
where ($1::text is null or a.visibility = 'shared' or a.owner = $1) and ($2::text is null or a.owner = $2)
  and ($3::timestamptz is null or a.updated_at >= $3) and ($4::timestamptz is null or a.updated_at < $4)
order by v.embedding::vector(0) <#> $5::real[]::vector(0) limit $6

-- name: by_scan
-- Every vector, where there is no index or it gave up too early. Ordered by what no index gives.
select v.article_id, v.ordinal, v.revision, v.starts, v.ends,
       -(v.embedding::vector(0) <#> $5::real[]::vector(0)) as similarity
from article_search.vectors_0 v join article_search.articles a on a.id = v.article_id
where ($1::text is null or a.visibility = 'shared' or a.owner = $1) and ($2::text is null or a.owner = $2)
  and ($3::timestamptz is null or a.updated_at >= $3) and ($4::timestamptz is null or a.updated_at < $4)
order by similarity desc, v.article_id, v.ordinal limit $6

-- name: by_articles
-- Every vector of a few articles.
select v.article_id, v.ordinal, v.revision, v.starts, v.ends,
       -(v.embedding::vector(0) <#> $2::real[]::vector(0)) as similarity
from article_search.vectors_0 v where v.article_id = any ($1::bigint[])
order by similarity desc, v.article_id, v.ordinal limit $3

-- name: everything
-- For a process that begins to keep vectors: what there is, and the snapshot that was read by. One row without an article
-- where there is nothing.
select s.snapshot, i.article_id, i.chunks
from (select pg_current_snapshot()::text as snapshot) s
left join (select article_id, chunks from article_search.indexed where generation = $1 limit $2) i on true

-- name: changed
-- What such a process has to read again: whatever its last snapshot ($2) did not see. A number that this server has not
-- given out yet came with a backup of another one, and was read at the beginning. went_back: the server is not in a
-- later state than then.
select s.snapshot, s.went_back, i.article_id, i.chunks
from (select pg_current_snapshot()::text as snapshot,
             pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax($2::text::pg_snapshot) as went_back) s
left join (
    select article_id, chunks from article_search.indexed
    where generation = $1 and changed >= pg_snapshot_xmin($2::text::pg_snapshot)
      and changed < pg_snapshot_xmax(pg_current_snapshot())
      and not pg_visible_in_snapshot(changed, $2::text::pg_snapshot)
    limit $3
) i on true

-- name: passages
-- How many vectors a process would have to keep.
select coalesce(sum(chunks), 0)::bigint from article_search.indexed where generation = $1

-- name: vectors_of
-- Arrays as the server sends them: twenty bytes of header, then numbers of four bytes with their length before each.
select article_id, ordinal, revision, starts, ends, array_send(embedding) as sent
from article_search.vectors_0 where article_id = any ($1::bigint[])

-- name: mean
-- What an article is about as a whole; read as it is, because there may be no type of vectors.
select array_send(embedding) as sent from article_search.vectors_0 where article_id = $1 order by ordinal limit $2
