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
