-- Pages are newest first, below $1. The index decides which entries are looked at, $2 how many; the other filters
-- ($4 actor, $5 action, $6 kind, $7 object) choose among those at most $3, so that no filter makes a page slow. The end
-- of the window comes with every row, so that a page without a match can still go on.

-- name: append
-- In the transaction of the act itself where there is one.
insert into penstock.audit (actor, ip, action, kind, object, owner, request_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb)

-- name: newest
-- Everybody's, over the primary key.
with seen as materialized (
    select * from penstock.audit where id < $1 order by id desc limit $2
), matching as (
    select * from seen
    where ($4::text is null or actor = $4) and ($5::text is null or action = $5)
      and ($6::text is null or kind = $6) and ($7::text is null or object = $7)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_by_actor
-- What one user did.
with seen as materialized (
    select * from penstock.audit where actor = $4 and id < $1 order by id desc limit $2
), matching as (
    select * from seen
    where ($5::text is null or action = $5) and ($6::text is null or kind = $6) and ($7::text is null or object = $7)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_on_object
-- What was done to one object.
with seen as materialized (
    select * from penstock.audit where kind = $6 and object = $7 and id < $1 order by id desc limit $2
), matching as (
    select * from seen where ($4::text is null or actor = $4) and ($5::text is null or action = $5)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last

-- name: newest_concerning
-- What $8 did, and what others did to objects of $8: the fronts of both indexes, merged.
with mine as (
    select * from penstock.audit where actor = $8 and id < $1 order by id desc limit $2
), others as (
    select * from penstock.audit where owner = $8 and actor <> $8 and id < $1 order by id desc limit $2
), seen as materialized (
    select * from (select * from mine union all select * from others) both_fronts order by id desc limit $2
), matching as (
    select * from seen
    where ($4::text is null or actor = $4) and ($5::text is null or action = $5)
      and ($6::text is null or kind = $6) and ($7::text is null or object = $7)
    order by id desc limit $3
)
select b.looked, b.last_id, m.*
from (select count(*) as looked, min(id) as last_id from seen) b left join matching m on true
order by m.id desc nulls last
