-- name: create
-- A taken name is an answer, not an error.
insert into penstock.users (name, role) values ($1, $2) on conflict (name) do nothing
returning id, name, role, created_at, disabled_at, password_changed_at

-- name: create_first
-- Only where nobody is there yet; of two processes that start together, the name lets one through.
insert into penstock.users (name, role) select $1, $2 where not exists (select from penstock.users)
on conflict (name) do nothing
returning id, name, role, created_at, disabled_at, password_changed_at

-- name: by_name
-- Names are how people and objects refer to a user.
select id, name, role, created_at, disabled_at, password_changed_at from penstock.users where name = $1

-- name: listing
-- A page by name, behind $1.
select id, name, role, created_at, disabled_at, password_changed_at from penstock.users where name > $1 order by name limit $2

-- name: lock
-- Before a change of one user: that row and every admin who could log in, in one order, so that two admins who demote
-- each other at the same moment take turns, and the second sees what the first did.
select name from penstock.users where name = $1 or (role = 'admin' and disabled_at is null) order by id for update

-- name: other_admins
-- Whether somebody else could still administer. A statement of its own, newer than the locks.
select exists (select from penstock.users where name <> $1 and role = 'admin' and disabled_at is null)

-- name: change
-- Null leaves a field as it is; a second "disable" keeps the time of the first.
update penstock.users
set role = coalesce($2, role),
    disabled_at = case $3::boolean when true then coalesce(disabled_at, now()) when false then null else disabled_at end
where name = $1
returning id, name, role, created_at, disabled_at, password_changed_at

-- name: password_hash
-- Of somebody who may get in: a disabled user has none.
select password_hash from penstock.users where name = $1 and disabled_at is null

-- name: holding_password
-- After the slow look at the password: still the same one, and nobody is disabling this user until the session stands.
select id, name, role, created_at, disabled_at, password_changed_at from penstock.users
where name = $1 and disabled_at is null and password_hash = $2
for share

-- name: set_password
-- Null takes it away.
update penstock.users set password_hash = $2, password_changed_at = case when $2::text is null then null else now() end
where name = $1
returning id, name, role, created_at, disabled_at, password_changed_at
