-- name: create
insert into penstock.tokens (user_id, name, hash, hint, expires_at) values ($1, $2, $3, $4, $5)
returning id

-- name: holder
-- Whom a token belongs to, if it still counts. The time of the last use is kept to the minute: a write per request would
-- make one row the busiest of the database.
with found as (
    select t.id, t.last_used_at, u.name, u.role from penstock.tokens t join penstock.users u on u.id = t.user_id
    where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now()) and u.disabled_at is null
), used as (
    update penstock.tokens t set last_used_at = now() from found f
    where t.id = f.id and (f.last_used_at is null or f.last_used_at < now() - interval '1 minute')
)
select id, name, role from found
