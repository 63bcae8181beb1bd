-- What is indexed of articles, and the vectors of a generation. vectors_0 stands for the table of any of them:
-- Generation.query puts in which.

-- name: wanted
-- The current texts of these articles, and what of them is indexed.
select a.id, a.revision, r.task_id is null as unwanted, r.title, r.content, r.digest, r.created_at as saved_at, i.revision as indexed_revision,
       i.digest as indexed_digest, clock_timestamp() as read_at
from article_search.articles a
join article_search.revisions r on r.article_id = a.id and r.revision = a.revision
left join article_search.indexed i on i.article_id = a.id and i.generation = $2
where a.id = any ($1::bigint[])

-- name: kept
-- Vectors that are there: a chunk whose text has not changed keeps its own.
select article_id, digest, array_send(embedding) as embedding from article_search.vectors_0
where article_id = any ($1::bigint[])

-- name: accept
-- Which of these may be stored. The lock makes a delete wait for us, or us see that the article is gone, and lets edits
-- pass; a revision that is older than what is indexed does not come back. Rows are locked in the order of their ids.
with there as (
    select a.id from article_search.articles a where a.id = any ($1::bigint[]) order by a.id for key share
)
insert into article_search.indexed as i (article_id, generation, revision, digest, chunks, waited_ms)
select n.article_id, $2, n.revision, n.digest, n.chunks,
       case when n.measured then greatest(extract(epoch from clock_timestamp() - n.saved_at) * 1000, 0)::bigint end
from unnest($1::bigint[], $3::integer[], $4::bytea[], $5::integer[], $6::timestamptz[], $7::boolean[])
    as n (article_id, revision, digest, chunks, saved_at, measured)
join there on there.id = n.article_id
order by n.article_id
on conflict (article_id, generation) do update
set revision = excluded.revision, digest = excluded.digest, chunks = excluded.chunks, embedded_at = now(),
    waited_ms = case when i.revision < excluded.revision then excluded.waited_ms else i.waited_ms end,
    changed = pg_current_xact_id()
where i.revision <= excluded.revision
returning i.article_id

-- name: forget_vectors
-- Before the new ones of these articles are copied in, in the same transaction.
delete from article_search.vectors_0 where article_id = any ($1::bigint[])

-- name: unchanged
-- The vectors of an earlier revision stand for this one, too: the text is the same. It is compared here again, because
-- another text may have been stored since it was read. Those that come back are as they should be.
update article_search.indexed i
set revision = n.revision, embedded_at = case when i.revision < n.revision then now() else i.embedded_at end
from unnest($1::bigint[], $3::integer[], $4::bytea[]) as n (article_id, revision, digest)
where i.article_id = n.article_id and i.generation = $2 and i.revision <= n.revision and i.digest = n.digest
returning i.article_id

-- name: gone
-- Of these, the articles that do not exist any more.
select n.id from unnest($1::bigint[]) as n (id)
where not exists (select from article_search.articles a where a.id = n.id)

-- name: bury
-- Leaves a mark for processes that keep vectors in memory.
update article_search.indexed set chunks = 0, embedded_at = now(), changed = pg_current_xact_id()
where article_id = any ($1::bigint[]) and chunks > 0
