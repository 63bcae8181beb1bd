-- name: take
-- Compare and set: whoever moves the due time forward does the duty.
insert into penstock.duties as d (name, due_at, ran_at)
values ($1, now() + $2 * interval '1 second', now())
on conflict (name) do update set due_at = excluded.due_at, ran_at = excluded.ran_at
where d.due_at <= now()
returning name

-- name: done
update penstock.duties set took_ms = $2, result = $3::text::jsonb where name = $1

-- name: list
select name, due_at, ran_at, took_ms, result::text as result from penstock.duties order by name

-- name: position
select position::text from penstock.duties where name = $1

-- name: reach
-- Null: the next run starts from the beginning. A duty that nobody has taken has no row, and starts there every time.
update penstock.duties set position = $2::text::jsonb where name = $1
