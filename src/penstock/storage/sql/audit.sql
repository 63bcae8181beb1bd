-- Pages are newest first, below $1. The index decides which entries are looked at, $2 how many; the other filters
-- ($4 actor, $5 action, $6 kind, $7 object, $8 and $9 the times) choose among those at most $3, so that no filter makes a
-- page slow. $10 is the lowest id that can matter; see `first_since`; without $11 looks are left out. The end of the window
-- comes with every row, so that a page without a match can still go on.

-- name: append
-- In the transaction of the act itself where there is one.
insert into penstock.audit (actor, ip, action, kind, object, owner, request_id, look, details)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb)

-- name: newest
-- Everybody's, over the primary key.
with seen as materialized (
    select * from penstock.audit where id < $1 and id >= $10 order by id desc limit $2
), matching as (
    select * from seen
    where ($4::text is null or actor = $4) and ($5::text is null or action = $5)
      and ($6::text is null or kind = $6) and ($7::text is null or object = $7)
      and at >= coalesce($8::timestamptz, '-infinity') and at < coalesce($9::timestamptz, 'infinity')
      and ($11 or not look)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_by_actor
-- What one user did.
with seen as materialized (
    select * from penstock.audit where actor = $4 and id < $1 and id >= $10 order by id desc limit $2
), matching as (
    select * from seen
    where ($5::text is null or action = $5) and ($6::text is null or kind = $6) and ($7::text is null or object = $7)
      and at >= coalesce($8::timestamptz, '-infinity') and at < coalesce($9::timestamptz, 'infinity')
      and ($11 or not look)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_on_object
-- What was done to one object.
with seen as materialized (
    select * from penstock.audit where kind = $6 and object = $7 and id < $1 and id >= $10 order by id desc limit $2
), matching as (
    select * from seen where ($4::text is null or actor = $4) and ($5::text is null or action = $5)
      and at >= coalesce($8::timestamptz, '-infinity') and at < coalesce($9::timestamptz, 'infinity')
      and ($11 or not look)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_concerning
-- What $12 did, and what others did to objects of $12: the fronts of both indexes, merged.
with mine as (
    select * from penstock.audit where actor = $12 and id < $1 and id >= $10 order by id desc limit $2
), others as (
    select * from penstock.audit where owner = $12 and actor <> $12 and id < $1 and id >= $10 order by id desc limit $2
), seen as materialized (
    select * from (select * from mine union all select * from others) both_fronts order by id desc limit $2
), matching as (
    select * from seen
    where ($4::text is null or actor = $4) and ($5::text is null or action = $5)
      and ($6::text is null or kind = $6) and ($7::text is null or object = $7)
      and at >= coalesce($8::timestamptz, '-infinity') and at < coalesce($9::timestamptz, 'infinity')
      and ($11 or not look)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: first_since
-- The lowest id from a time on. `at` is when a transaction began, so ids and times are only nearly in one order: the first
-- entries of that time decide together.
select min(id) from (select id from penstock.audit where at >= $1 order by at limit 1000) first_entries

-- name: last_until
-- The highest id before a time, in the same way.
select max(id) from (select id from penstock.audit where at < $1 order by at desc limit 1000) last_entries

-- name: forget
-- Entries beyond retention, a small batch at a time.
delete from penstock.audit where id in (
    select id from penstock.audit where at < now() - $1 * interval '1 second' order by at limit $2)
