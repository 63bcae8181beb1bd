-- name: configure
-- A circuit that is open stays so, with the new pause: its cause has not gone away.
insert into penstock.circuits as c (key, failure_limit, pause_seconds) values ($1, $2, $3::float8)
on conflict (key) do update set failure_limit = excluded.failure_limit, pause_seconds = excluded.pause_seconds
where (c.failure_limit, c.pause_seconds) is distinct from (excluded.failure_limit, excluded.pause_seconds)

-- name: remove
-- Without its row a key has no circuit, open or not.
delete from penstock.circuits where key = $1 returning key

-- name: failed
-- One more failure in a row. Where the circuit is open only the failure of its newest probe ($2 is its token) counts:
-- calls that began before it opened would make the pause longer and longer.
update penstock.circuits as c set
    failures = c.failures + 1,
    opened_at = case when c.opened_at is not null or c.failures + 1 >= c.failure_limit then clock_timestamp() end,
    probe_until = null,
    probe_at_opening = case when c.opened_at is null then c.probe else c.probe_at_opening end
from (select key, opened_at from penstock.circuits where key = $1 for update) as before
where c.key = before.key and (c.opened_at is null or c.probe = $2::bigint)
returning c.failures, c.pause_seconds, c.opened_at is not null as open,
          c.opened_at is not null and before.opened_at is null as opened

-- name: succeeded
-- Closes the circuit where any probe since the opening says so, also one that was given up; forgets failures where it
-- is closed. A late answer from before the opening closes nothing.
update penstock.circuits as c set failures = 0, opened_at = null, probe_until = null
from (select key, opened_at from penstock.circuits where key = $1 for update) as before
where c.key = before.key and (c.opened_at is null or c.probe_at_opening < $2::bigint)
returning before.opened_at is not null as closed

-- name: probe
-- The one call that may try an open circuit: whoever changes the row first. It may be slower than the pause and still
-- be well: given up is one that has not come back after four pauses (300 s at most), 10 s, and a pause at least.
update penstock.circuits set
    probe = probe + 1,
    probe_until = clock_timestamp()
        + greatest(least(4 * pause_seconds, 300), 10, pause_seconds) * interval '1 second'
where key = $1 and opened_at is not null
  and clock_timestamp() >= coalesce(probe_until, opened_at + pause_seconds * interval '1 second')
returning probe

-- name: give_back
-- The probe was interrupted and says nothing about the other side: the next one may try at once.
update penstock.circuits set probe_until = clock_timestamp()
where key = $1 and probe = $2 and opened_at is not null
