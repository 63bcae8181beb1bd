-- name: append
-- What was asked since the last batch; one time for all of them, the database's.
insert into catalogue.search_events (task_id, job_id, attempt, provider, query, hit, ms, cost, error)
select * from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::text[], $6::boolean[], $7::real[],
                     $8::numeric[], $9::text[])
returning at

-- name: forget
-- Kept as long as the tasks they belong to; a batch at a time.
with old as (  -- the oldest first, which the index by age finds
    select id from catalogue.search_events where at < now() - make_interval(secs => $1::float8) order by id limit $2
)
delete from catalogue.search_events where id in (select id from old)
