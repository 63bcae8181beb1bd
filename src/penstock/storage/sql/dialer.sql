-- What a server is asked before it is used, where it did not report it at the login or the report speaks against it.

-- name: read_only
-- "on" for a standby, and for a server, database or user that was made read-only.
show transaction_read_only

-- name: in_recovery
-- True for a standby, also for one that follows nobody at the moment.
select pg_catalog.pg_is_in_recovery()
