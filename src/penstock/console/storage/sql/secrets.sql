-- name: get_or_create
-- Whoever comes first decides; everybody reads the same value afterwards.
with made as (
    insert into penstock.secrets (name, value) values ($1, $2) on conflict (name) do nothing returning value
)
select value from made union all select value from penstock.secrets where name = $1 limit 1
