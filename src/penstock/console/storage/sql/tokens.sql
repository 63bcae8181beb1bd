-- name: create
-- Its end as a time, or as days from the database's now.
insert into penstock.tokens (user_id, name, hash, hint, expires_at)
values ($1, $2, $3, $4, coalesce($5::timestamptz, now() + make_interval(days => $6::integer)))
returning id, expires_at

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

-- name: listing
-- Everybody's, newest first, below $1.
select t.id, u.name as user_name, t.name, t.hint, t.created_at, t.expires_at, t.revoked_at, t.last_used_at
from penstock.tokens t join penstock.users u on u.id = t.user_id
where t.id < $1 order by t.id desc limit $2

-- name: listing_of_user
-- One user's, which the index on the user finds.
select t.id, u.name as user_name, t.name, t.hint, t.created_at, t.expires_at, t.revoked_at, t.last_used_at
from penstock.tokens t join penstock.users u on u.id = t.user_id
where u.name = $3 and t.id < $1 order by t.id desc limit $2

-- name: revoke
-- The first time counts. With a user ($2) it has to be that user's: a foreign id changes nothing.
update penstock.tokens t set revoked_at = coalesce(t.revoked_at, now())
from penstock.users u
where t.id = $1 and u.id = t.user_id and ($2::text is null or u.name = $2)
returning t.id, u.name as user_name, t.name, t.hint, t.created_at, t.expires_at, t.revoked_at, t.last_used_at
