-- The table half of the double ledger that the crash tests and the kill storm keep. Not part of a user's schema.

-- name: create
create schema if not exists penstock_testing;
create table if not exists penstock_testing.ledger (
    task_id bigint not null,
    lease   bigint not null,
    kind    text not null,
    pid     integer not null,
    at      timestamptz not null default clock_timestamp()
);

-- name: append
insert into penstock_testing.ledger (task_id, lease, kind, pid) values ($1, $2, $3, $4)

-- name: entries
select task_id, lease, kind, pid, extract(epoch from at)::double precision as at from penstock_testing.ledger

-- name: outcomes
-- How the tasks ended, and under which lease.
select task_id, lease, status from penstock.outcomes where task_id = any ($1::bigint[])

-- name: unfinished
select task_id, lease, worker from penstock.queue where task_id = any ($1::bigint[])

-- name: miscounted
-- A second settlement of a task cannot leave a second outcome, but it would count twice: endings counted, less those whose
-- rows are gone, against endings stored, per stage.
select c.stage, c.n as counted, coalesce(o.n, 0) as stored
from (select stage, sum(case when state < 10 then n else -n end)::bigint as n from penstock.counts
      where state between 2 and 6 or state between 12 and 16 group by stage) c
full join (select stage, count(*) as n from penstock.outcomes group by stage) o using (stage)
where coalesce(c.n, 0) <> coalesce(o.n, 0)

-- name: uncaused
-- Attempts that were burned without a cause in the history: outcomes say how many runs it took.
select o.task_id, o.attempts - 1 as burned, count(a.task_id) filter (where a.burned) as noted
from penstock.outcomes o left join penstock.attempts a on a.task_id = o.task_id and a.run = o.run and a.stage = o.stage
where o.task_id = any ($1::bigint[])
group by o.task_id, o.attempts
having o.attempts - 1 > count(a.task_id) filter (where a.burned)

-- name: held_by
-- What the workers of one supervisor process hold now.
select q.task_id, q.lease from penstock.queue q join penstock.workers w on w.id = q.worker
where q.worker is not null and w.pid = $1

-- name: terminate_one
-- A fault: one random connection of the engine is cut by the server.
select pg_terminate_backend(pid) from (
    select pid from pg_stat_activity
    where application_name like 'penstock %' and datname = current_database() order by random() limit 1) one

-- name: terminate_listeners
select pg_terminate_backend(pid) from pg_stat_activity
where application_name = 'penstock listen' and datname = current_database()
