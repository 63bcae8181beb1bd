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
