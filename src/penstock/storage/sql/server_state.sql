-- What the doctor asks the server about itself. Every query stands alone: the doctor also looks at a database whose
-- schema is old, damaged or missing.

-- name: clock
-- Compared with this machine's clock; both of the round trip's ends are noted by the caller.
select clock_timestamp() as at

-- name: settings
select name, setting from pg_settings
where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'autovacuum', 'max_connections', 'track_counts',
               'superuser_reserved_connections')

-- name: connections
-- Client connections only: background processes take no slot.
select count(*) as used, count(*) filter (where application_name like 'penstock%') as ours
from pg_stat_activity where backend_type = 'client backend'

-- name: bloat
-- Of the tables that change all the time.
select s.relname as table_name, s.n_live_tup as live, s.n_dead_tup as dead, s.last_autovacuum, s.last_vacuum,
       pg_total_relation_size(s.relid) as size_bytes, now() as read_at,
       coalesce((select option_value from pg_options_to_table(c.reloptions) where option_name = 'autovacuum_enabled'),
                'true') as autovacuum
from pg_stat_user_tables s join pg_class c on c.oid = s.relid
where s.schemaname = 'penstock' and s.relname in ('queue', 'counts', 'limits', 'workers')
order by s.relname

-- name: xmin_holders
-- Who keeps dead rows of this database from being removed: snapshots, prepared transactions, replication slots.
select kind, pid, name, age_xids, seconds, detail from (
    select 'transaction' as kind, pid, coalesce(nullif(application_name, ''), 'unnamed client') as name,
           age(backend_xmin) as age_xids, extract(epoch from now() - xact_start)::float8 as seconds,
           state || ': ' || left(query, 200) as detail
    from pg_stat_activity
    where backend_xmin is not null and pid <> pg_backend_pid() and backend_type <> 'autovacuum worker'
      and (datname is null or datname = current_database())
    union all
    select 'prepared transaction', null, gid, age(transaction), extract(epoch from now() - prepared)::float8, owner
    from pg_prepared_xacts where database = current_database()
    union all
    select 'replication slot', active_pid, slot_name, greatest(age(xmin), age(catalog_xmin)), null,
           case when active then 'in use' else 'nobody reads it' end
    from pg_replication_slots
    where (xmin is not null or catalog_xmin is not null) and (database is null or database = current_database())) holders
order by seconds desc nulls first limit 10

-- name: long_transactions
-- Idle ones inside a transaction are the usual mistake: a program waits while it holds locks.
select pid, coalesce(nullif(application_name, ''), 'unnamed client') as name, state,
       extract(epoch from now() - xact_start)::float8 as seconds, left(query, 200) as query
from pg_stat_activity
where xact_start < now() - $1 * interval '1 second' and pid <> pg_backend_pid() and backend_type = 'client backend'
  and datname = current_database()
order by xact_start limit 10

-- name: notify_usage
select pg_notification_queue_usage()::float8 as used

-- name: indexes
-- Also the invalid ones: a CREATE INDEX CONCURRENTLY that was broken off leaves one behind.
select c.relname as name, t.relname as table_name, i.indisvalid as valid
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
join pg_namespace n on n.oid = t.relnamespace
where n.nspname = 'penstock'

-- name: leases_of_gone
-- Rows held by workers that are dead, stopped, unknown, or past their lease by more than $1 seconds.
select q.worker, max(w.name) as name, count(*) as held, extract(epoch from now() - max(w.lease_until))::float8 as seconds
from penstock.queue q left join penstock.workers w on w.id = q.worker
where q.worker is not null
  and (w.id is null or w.died_at is not null or w.stopped_at is not null or w.lease_until < now() - $1 * interval '1 second')
group by q.worker order by held desc limit 10

-- name: silent_workers
-- Said nothing for longer than their lease, and nobody has declared them dead yet.
select id, name, host, pid, extract(epoch from now() - heartbeat_at)::float8 as seconds
from penstock.workers
where stopped_at is null and died_at is null and lease_until < now() order by heartbeat_at limit 10

-- name: failing_schedules
select name, last_error, next_fire_at is null as ended from penstock.schedules
where last_error is not null or (next_fire_at is null and paused_at is null) order by name limit 10

-- name: overdue_duties
-- A duty is due again and again; one that waits longer than $1 seconds has nobody who does it.
select name, extract(epoch from now() - due_at)::float8 as seconds from penstock.duties
where due_at < now() - $1 * interval '1 second' and due_at > '-infinity' order by due_at limit 10

-- name: database_size
select pg_database_size(current_database()) as size_bytes, current_database() as name

-- name: pressure
-- What slows a queue without failing it: rows vacuum could not remove, and whoever holds it back.
select coalesce(s.n_dead_tup, 0) as dead_rows, coalesce(s.n_live_tup, 0) as live_rows,
       coalesce((select max(extract(epoch from now() - a.xact_start)) from pg_stat_activity a
                 where a.backend_xmin is not null and a.pid <> pg_backend_pid()), 0)::double precision
           as oldest_snapshot_seconds
from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
where c.oid = 'penstock.queue'::regclass

-- name: stuck_rows
-- Leased rows whose worker is gone: rescue should have taken them within seconds.
select count(*) from penstock.queue q left join penstock.workers w on w.id = q.worker
where q.worker is not null
  and (w.id is null or w.died_at < now() - interval '30 seconds' or w.stopped_at < now() - interval '30 seconds')
