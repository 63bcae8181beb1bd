-- Queries on which generations are compared.

-- name: add
-- The same query again changes what is expected of it.
insert into article_search.saved_queries (owner, query, expected) values ($1, $2, $3)
on conflict (owner, query) do update set expected = excluded.expected
returning id, owner, query, expected, created_at

-- name: add_missing
-- Many at once, of a file: what is there keeps what is expected of it.
insert into article_search.saved_queries (owner, query, expected)
select $1, given.query, coalesce(string_to_array(nullif(given.expected, ''), ','), '{}')
from unnest($2::text[], $3::text[]) as given (query, expected)
on conflict (owner, query) do nothing
returning id

-- name: listing
-- Oldest first; of an owner, or of everybody.
select id, owner, query, expected, created_at from article_search.saved_queries
where $1::text is null or owner = $1
order by id limit $2

-- name: remove
-- Only one's own, unless no owner is asked for.
delete from article_search.saved_queries where id = $1 and ($2::text is null or owner = $2) returning id
