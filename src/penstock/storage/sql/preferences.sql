-- name: all
-- A handful of rows.
select name, value::text as value, changed_by, changed_at from penstock.preferences

-- name: put
-- The last one to change it counts.
insert into penstock.preferences (name, value, changed_by) values ($1, $2::text::jsonb, $3)
on conflict (name) do update set value = excluded.value, changed_by = excluded.changed_by, changed_at = now()

-- name: remove
-- Back to the environment's value.
delete from penstock.preferences where name = $1
