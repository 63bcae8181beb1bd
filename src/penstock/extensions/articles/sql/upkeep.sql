-- What is left of articles that are gone, and of generations. Generation.query makes `stray` that of one of them.

-- name: unburied
-- Still indexed though the article is gone: its delete failed, or was cancelled.
select distinct i.article_id from article_search.indexed i
where i.chunks > 0 and i.article_id > $1
  and not exists (select from article_search.articles a where a.id = i.article_id)
order by i.article_id limit $2

-- name: forget_tombstones
-- The mark of a deleted article is read by processes that keep vectors in memory; after a day all have. Read in the order
-- of its own index, so that a batch costs what it removes.
with old as (
    select i.ctid from article_search.indexed i
    where i.chunks = 0 and i.embedded_at < now() - interval '1 day'
      and not exists (select from article_search.articles a where a.id = i.article_id)
    order by i.embedded_at limit $1
)
delete from article_search.indexed where ctid = any (array(select ctid from old)) and chunks = 0

-- name: forget_dropped
-- What an embedding that was under way has left in a dropped generation: nobody reads it.
delete from article_search.indexed where ctid = any (array(
    select i.ctid from article_search.indexed i
    where i.generation = any (array(select g.id from article_search.generations g where g.state = 'dropped'))
    limit $1))

-- name: stray
-- Articles that are gone but have vectors, whatever the index says of them.
select distinct v.article_id from article_search.vectors_0 v
where v.article_id > $1 and not exists (select from article_search.articles a where a.id = v.article_id)
order by v.article_id limit $2
