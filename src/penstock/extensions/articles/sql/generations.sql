-- Generations of the index.

-- name: active
select id, name, embedder, model, dimensions, chunker, state, job_id, note, created_by, created_at, ready_at, activated_at
from article_search.generations where state = 'active'

-- name: live
-- Those that are kept up to date with every save; the active one first.
select id, name, embedder, model, dimensions, chunker, state, job_id, note, created_by, created_at, ready_at, activated_at
from article_search.generations where state in ('building', 'ready', 'active', 'standby')
order by state <> 'active', id

-- name: listing
select id, name, embedder, model, dimensions, chunker, state, job_id, note, created_by, created_at, ready_at, activated_at
from article_search.generations order by id

-- name: get
select id, name, embedder, model, dimensions, chunker, state, job_id, note, created_by, created_at, ready_at, activated_at
from article_search.generations where id = $1

-- name: by_name
-- The name of a dropped one is free again.
select id, name, embedder, model, dimensions, chunker, state, job_id, note, created_by, created_at, ready_at, activated_at
from article_search.generations where name = $1 and state <> 'dropped'

-- name: insert
insert into article_search.generations (name, embedder, model, dimensions, chunker, created_by)
values ($1, $2, $3, $4, $5, $6)
returning id, name, embedder, model, dimensions, chunker, state, job_id, note, created_by, created_at, ready_at, activated_at

-- name: create_vectors
-- The table of its vectors; the index for nearest neighbours comes when there is something in it.
create table article_search.vectors_0 (
    article_id bigint not null,
    ordinal    integer not null,
    revision   integer not null,
    starts     integer not null,
    ends       integer not null,
    digest     bytea not null,
    embedding  real[] not null
)

-- name: index_vectors
create index vectors_0_article on article_search.vectors_0 (article_id)
