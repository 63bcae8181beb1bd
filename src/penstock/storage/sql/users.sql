-- name: create
insert into penstock.users (name, role) values ($1, $2) on conflict (name) do nothing
returning id, name, role, created_at, disabled_at

-- name: by_name
select id, name, role, created_at, disabled_at from penstock.users where name = $1
