-- name: create
-- Ends after $5 idle seconds unless it is used.
insert into penstock.sessions (user_id, hash, ip, agent, expires_at)
values ($1, $2, $3, $4, now() + $5 * interval '1 second')

-- name: holder
-- Whom a session belongs to, if it still counts. Use moves its end, up to $3 seconds after its start; written at most
-- once a minute, because a browser asks many times a second.
with found as (
    select s.id, u.name, u.role, s.expires_at, s.last_seen_at,
        least(now() + $2 * interval '1 second', s.created_at + $3 * interval '1 second') as moved_to
    from penstock.sessions s join penstock.users u on u.id = s.user_id
    where s.hash = $1 and s.revoked_at is null and s.expires_at > now()
      and s.created_at > now() - $3 * interval '1 second' and u.disabled_at is null
), used as (
    update penstock.sessions s set expires_at = f.moved_to, last_seen_at = now() from found f
    where s.id = f.id
      and (s.expires_at < f.moved_to - interval '1 minute' or s.last_seen_at < now() - interval '1 minute')
)
select name, role from found

-- name: revoke
-- The logout. Only the user's own session: whoever comes with a token as well may be somebody else.
update penstock.sessions s set revoked_at = now() from penstock.users u
where s.hash = $1 and s.revoked_at is null and u.id = s.user_id and u.name = $2
returning s.id

-- name: revoke_all
-- A disabled user is out in every browser, and stays out when enabled again.
update penstock.sessions set revoked_at = now() where user_id = $1 and revoked_at is null

-- name: listing
-- One user's that still count, the last used first; $2 is the hash of the one that asks.
select s.id, s.ip, s.agent, s.created_at, s.last_seen_at, s.expires_at, s.hash is not distinct from $2 as current
from penstock.sessions s join penstock.users u on u.id = s.user_id
where u.name = $1 and s.revoked_at is null and s.expires_at > now()
order by s.last_seen_at desc, s.id desc limit $3

-- name: revoke_one
-- A session of this user's ($2), from another browser.
update penstock.sessions s set revoked_at = now() from penstock.users u
where s.id = $1 and s.revoked_at is null and s.expires_at > now() and u.id = s.user_id and u.name = $2
returning s.id

-- name: revoke_others
-- All of a user's but the one with this hash; all of them where there is none.
update penstock.sessions s set revoked_at = now() from penstock.users u
where u.name = $1 and s.user_id = u.id and s.revoked_at is null and s.expires_at > now()
  and s.hash is distinct from $2
returning s.id

-- name: forget
-- Sessions that ended long ago, revoked ones too: their end is never more than days away.
delete from penstock.sessions where id in (
    select id from penstock.sessions where expires_at < now() - $1 * interval '1 second' order by expires_at limit $2)
