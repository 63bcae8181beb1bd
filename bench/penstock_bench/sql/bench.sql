-- What the benches ask of a database of their own. Nothing here runs against a user's data.

-- name: create_statement
-- A database cannot be named by a parameter; the server quotes the name.
select format('create database %I', $1::text)

-- name: drop_statement
-- Also with somebody still in it: a bench that was interrupted leaves nothing behind.
select format('drop database if exists %I with (force)', $1::text)

-- name: settle_down
-- The same state before every measurement: nothing dead in the tables, statistics that fit.
vacuum (analyze) penstock.queue, penstock.tasks, penstock.outcomes, penstock.counts, penstock.lanes

-- name: checkpoint
-- Otherwise the checkpoint of what was filled in falls into what is measured.
checkpoint

-- name: claimed
-- How many leases were ever given. One page whatever the size of the tables, so looking often disturbs nobody.
select case when is_called then last_value else 0 end from penstock.lease_numbers

-- name: claiming_seconds
-- How long ago the claim that is running now, or was the last to run, began.
select coalesce(extract(epoch from max(clock_timestamp() - query_start)), 0)::double precision
from pg_stat_activity where datname = current_database() and application_name = 'penstock claim'

-- name: backends
-- The server's processes that work for clients of this database; only of use on the server's own machine.
select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'

-- name: finished
-- Endings of one stage, from the counters: a settle leaves one row per lane there.
select coalesce(sum(n), 0)::bigint from penstock.counts where stage = $1 and state between 2 and 6

-- name: wal_bytes
select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint

-- name: watch_statements
-- Needs shared_preload_libraries; the benches' own server has it.
create extension if not exists pg_stat_statements

-- name: statements
-- What ran in this database, and how long the server took for it. Statements of the bench itself are left out.
select query, calls, total_exec_time as milliseconds
from pg_stat_statements s join pg_database d on d.oid = s.dbid
where d.datname = current_database() and query not like all ($1::text[])

-- name: forget_statements
select pg_stat_statements_reset(dbid => oid) from pg_database where datname = current_database()

-- name: stage
select id from penstock.stages where pipeline = $1 order by position limit 1

-- name: open_lanes
-- Many at once; a call per lane would take seconds.
select penstock.open_lane($1, 'lane-' || number, 0) from generate_series(1, $2::integer) as number

-- name: fill
-- Waiting tasks in turn over the lanes, millions in bearable time. The rows are what an enqueue would have left.
with placed as (
    insert into penstock.tasks (entry, input) select $1, $2::text::jsonb from generate_series(1, $3::integer)
    returning id
), queued as (
    insert into penstock.queue (task_id, lane, stage)
    select id, ($4::bigint[])[1 + id % array_length($4::bigint[], 1)], $1 from placed
    returning lane
)
insert into penstock.counts (lane, stage, state, n) select lane, $1, 0, count(*) from queued group by lane

-- name: hold_snapshot
-- In a repeatable read transaction: from here on vacuum may not remove what was alive now.
select count(*) from penstock.stages

-- name: machine
select version() as server, current_setting('synchronous_commit') as synchronous_commit,
       current_setting('fsync') as fsync, current_setting('shared_buffers') as shared_buffers

-- name: flat_table
-- The rows of a CSV as they stand, without an index: the least that storing them can cost.
create table if not exists penstock.bench_flat (
    c1 text, c2 text, c3 text, c4 text, c5 text, c6 text, c7 text, c8 text)

-- name: empty_flat_table
truncate penstock.bench_flat

-- name: empty_tables
-- Between two measurements.
truncate penstock.tasks, penstock.queue, penstock.outcomes, penstock.counts, penstock.file_chunks, penstock.files,
         penstock.imports, penstock.lanes, penstock.jobs

-- name: fill_job
-- Finished and waiting rows of one job, as workers would have left them: of ten, five are done, one has failed, the rest
-- waits. Times differ by a millisecond per hundred rows.
with placed as (
    insert into penstock.tasks (entry, job_id, owner, input)
    select $1, $2, $3, jsonb_build_object('row', $5 + number, 'cells', jsonb_build_array(
        'A-' || ($5 + number), 'Oak table, oiled, extendable, with steel legs', 'Acme', '4006381333931', '12.90', 'EUR',
        'https://shop.example/p/' || ($5 + number), 'furniture'))
    from generate_series(1, $6::integer) as number
    returning id
), waiting as (
    insert into penstock.queue (task_id, lane, stage, run_at, updated_at)
    select id, $4, $1, now(), now() + id / 100 * interval '1 millisecond' from placed where id % 10 >= 6
), ended as (
    insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, finished_at, result, error)
    select id, $2, $4, $1, case when id % 10 = 5 then 3 else 2 end, 1, 1, now() + id / 100 * interval '1 millisecond',
           case when id % 10 < 5 then '{"columns": {"Price": 12.9, "Retailer": "Acme", "Match": "gtin"}}'::jsonb end,
           case when id % 10 = 5 then '{"type": "TransientError", "message": "the shop did not answer"}'::jsonb end
    from placed where id % 10 < 6
)
insert into penstock.counts (lane, stage, state, n)
select $4, $1, k.state, count(*) from placed
join (values (0, 0, 9), (2, 0, 4), (3, 5, 5)) as k (state, first, last) on id % 10 between k.first and k.last
group by k.state


-- name: settle_articles
-- As above, for the tables of article search.
vacuum (analyze) article_search.articles, article_search.revisions, article_search.slugs

-- name: chunks
-- Vectors of the first generation.
select count(*) from article_search.vectors_1

-- name: set_embedder
-- Lets the worker meet a provider that is away, and brings the old one back.
update article_search.generations set embedder = $1 where state = 'active'

-- name: fill_rows
-- Finished rows as an import and a look-up would have left them, without running either.
with placed as (
    insert into penstock.tasks (entry, job_id, input)
    select $1, $2, jsonb_build_object('row', n, 'cells', jsonb_build_array(
        'SKU-' || n, 'Garden spade number ' || n || ', "forged"', 'Brand ' || n % 97, lpad((n * 7919)::text, 13, '4'),
        (n % 10000 / 100.0)::text, (n % 50)::text, 'Garden > Tools > Spades',
        'A spade for heavy soil, number ' || n || ', with an ash handle and a warranty of ten years'))
    from generate_series($4::bigint, $5::bigint) as n
    returning id
)
insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, result)
select id, $2, $3, $1, 2, 1, 1, jsonb_build_object(
    'columns', jsonb_build_object('Title found', 'Spade ' || id, 'Retailer', 'Retailer ' || id % 13,
        'Price found', id % 10000 / 100.0, 'Address', 'https://shop.example/products/' || id),
    'normalized', jsonb_build_object('title', 'spade ' || id),
    'provenance', jsonb_build_object('Price found', jsonb_build_object('provider', 'local', 'query', 'gtin')))
from placed
