-- The channel for outside listeners. A hint like every NOTIFY: coalesced by the sender, never the truth.

-- name: tell
-- One message per call; PostgreSQL delivers it at commit and keeps it for nobody who does not listen.
select pg_notify('penstock_changes', $1)

-- name: clock
-- The database's time, for measuring how far the local clock is from it.
select extract(epoch from clock_timestamp())::double precision

-- name: owners
-- Whose the jobs are that a message names: a stream tells them to nobody else.
select id, owner from penstock.jobs where id = any ($1::bigint[])
