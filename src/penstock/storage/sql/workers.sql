-- name: register
insert into penstock.workers (supervisor, name, host, pid, version, stages, lease_until)
values ($1, $2, $3, $4, $5, $6, now() + $7 * interval '1 second')
returning id

-- name: heartbeat
-- Renews the leases of all runners of a supervisor. A worker that was declared dead is not in the answer:
-- it has to stop and come back under a new id.
update penstock.workers w
set heartbeat_at = now(), lease_until = now() + $2 * interval '1 second', running = h.running, status = h.status::jsonb
from (
    select h.id, coalesce((select array_agg(r::bigint) from jsonb_array_elements_text(h.running::jsonb) r), '{}') as running,
           h.status
    from unnest($1::bigint[], $3::text[], $4::text[]) as h (id, running, status)) h
where w.id = h.id and w.died_at is null and w.stopped_at is null
returning w.id

-- name: set_stages
update penstock.workers set stages = $2 where id = $1

-- name: stop
update penstock.workers set stopped_at = now(), running = '{}' where id = any ($1::bigint[]) and stopped_at is null

-- name: declare_dead
-- The end of a worker's leases: from here its heartbeats are refused, then its rows are given back.
update penstock.workers set died_at = now()
where lease_until < now() and stopped_at is null and died_at is null
returning id

-- name: declare_dead_by_supervisor
-- The supervisor saw its runner die: no need to wait for the lease to end.
update penstock.workers set died_at = now() where id = $1 and died_at is null and stopped_at is null

-- name: list
select id, supervisor, name, host, pid, version, stages, started_at, heartbeat_at, lease_until, stopped_at, died_at,
       running, status::text as status,
       extract(epoch from now() - heartbeat_at)::double precision as silent_seconds,
       (stopped_at is null and died_at is null and lease_until >= now()) as live
from penstock.workers
where $1 or (stopped_at is null and died_at is null)
order by id

-- name: forget
-- Rows of workers that are long gone and hold nothing.
delete from penstock.workers w
where coalesce(w.stopped_at, w.died_at) < now() - $1 * interval '1 second'
  and not exists (select from penstock.queue q where q.worker is not null and q.worker = w.id)
