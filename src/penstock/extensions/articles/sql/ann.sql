-- The index for nearest neighbours of a generation, where the server has pgvector.

-- name: has_vectors
-- Whether the type can be used from here.
select to_regtype('vector') is not null and to_regtype('halfvec') is not null

-- name: may_create_extension
-- Asked before it is tried, so that a server on which it is not allowed does not log an error every minute.
select exists (
    select from pg_available_extension_versions v
    where v.name = 'vector' and not v.installed
      and ((select rolsuper from pg_roles where rolname = current_user)
           or v.trusted and has_database_privilege(current_database(), 'create')))

-- name: create_extension
create extension if not exists vector

-- name: state
-- The index as it stands: valid, or left behind by a build that died, or being built now. The progress is read after the
-- catalogue, and a build reports itself before it writes there: one that lives is never taken for one that died.
select i.indisvalid as valid,
       exists (select from pg_stat_progress_create_index p where p.relid = i.indrelid) as being_built
from pg_index i
where i.indrelid = 'article_search.vectors_0'::regclass and i.indexrelid = to_regclass('article_search.vectors_0_near')

-- name: worth_it
-- Below so many chunks a scan is as fast.
select count(*) >= $1 from (select from article_search.vectors_0 limit $1) as seen

-- name: size
-- Rows as the statistics have them, for the memory of a build.
select greatest(reltuples, 0)::bigint from pg_class where oid = 'article_search.vectors_0'::regclass

-- name: prepare
-- For this session: the graph of a large table has to fit into memory, and no limit meant for short statements applies.
select set_config('maintenance_work_mem', $1, false), set_config('statement_timeout', '0', false),
       set_config('lock_timeout', '0', false), set_config('max_parallel_maintenance_workers', $2, false)

-- name: restore
-- The connection goes back to others.
select set_config(name, reset_val || coalesce(unit, ''), false) from pg_settings
where name in ('maintenance_work_mem', 'statement_timeout', 'lock_timeout', 'max_parallel_maintenance_workers')

-- name: create
-- Beside running searches and saves. The numbers were measured: docs/decisions/0014.
create index concurrently vectors_0_near on article_search.vectors_0
using hnsw ((embedding::vector(0)) vector_ip_ops) with (m = 20, ef_construction = 56)

-- name: drop
-- What a build that died has left.
drop index concurrently if exists article_search.vectors_0_near

-- name: analyze
-- The planner believes a new table to be small.
analyze article_search.vectors_0

-- name: analyze_indexed
analyze article_search.indexed
