-- name: cut
-- The pieces of texts that were found. Only they leave the server: a text may have a million characters.
select w.article_id, substring(r.content from w.starts + 1 for w.ends - w.starts) as text
from unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[]) w (article_id, revision, starts, ends)
join article_search.revisions r on r.article_id = w.article_id and r.revision = w.revision
