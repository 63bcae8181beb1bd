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

-- name: forget_orphans
-- Of jobs that are gone, a batch at a time. One look per job, whatever the number of events: each steps to the next job.
with recursive known as (
    (select job_id from catalogue.search_events where job_id is not null order by job_id limit 1)
    union all
    select (select e.job_id from catalogue.search_events e where e.job_id > k.job_id order by e.job_id limit 1)
    from known k where k.job_id is not null
), gone as (
    select job_id from known
    where job_id is not null and not exists (select from penstock.job_states j where j.job_id = known.job_id)
), batch as (
    select e.id from gone g join catalogue.search_events e on e.job_id = g.job_id limit $1
)
delete from catalogue.search_events where id in (select id from batch)
