-- name: create
-- Only the hash: whoever reads the table cannot log in with it.
insert into penstock.login_links (hash, user_id, expires_at) values ($1, $2, now() + $3 * interval '1 second')

-- name: use
-- The one use of a link. Two at the same moment meet at the row: the second finds `used_at` set. The user's row is held,
-- so that somebody who is being disabled either gets no session or one that the disabling ends.
with holder as (
    select u.id, u.name, u.role, u.created_at, u.disabled_at, u.password_changed_at
    from penstock.login_links l join penstock.users u on u.id = l.user_id
    where l.hash = $1 and u.disabled_at is null
    for share of u
), used as (
    update penstock.login_links l set used_at = now() from holder h
    where l.hash = $1 and l.used_at is null and l.expires_at > now()
    returning l.user_id
)
select h.id, h.name, h.role, h.created_at, h.disabled_at, h.password_changed_at from holder h join used on used.user_id = h.id

-- name: use_up
-- The links of a user who is disabled.
update penstock.login_links set used_at = now() where user_id = $1 and used_at is null

-- name: forget
-- Links that nobody can use any more.
delete from penstock.login_links where hash in (
    select hash from penstock.login_links where expires_at < now() - $1 * interval '1 second' limit $2)
