-- What pages about catalogues show beside what the engine knows of tasks and jobs.

-- name: page
-- The newest catalogue jobs of an owner (null: of everybody) behind a job. Looks at a bounded number of jobs, and says
-- where it stopped, so that somebody with many other jobs gets short pages rather than slow ones.
select job_id as id, pipeline = $3 as wanted, name, owner, created_at, metadata::text as metadata from (
    select job_id, pipeline, name, owner, created_at, metadata from penstock.job_states
    where deleted_at is null and ($1::text is null or owner = $1) and ($2::bigint is null or job_id < $2)
    order by job_id desc limit $4) newest
order by job_id desc

-- name: job
-- One of them, as the page has it.
select job_id as id, true as wanted, name, owner, created_at, metadata::text as metadata from penstock.job_states
where job_id = $1 and pipeline = $2 and deleted_at is null

-- name: by_provider
-- How each provider answered the newest questions of these jobs; of each job no more are looked at than $2.
select j.id as job_id, q.provider, count(*) as asked, count(*) filter (where q.hit) as hits,
       count(*) filter (where not q.hit) as misses, count(*) filter (where q.hit is null) as unanswered,
       avg(q.ms)::float8 as milliseconds, sum(q.cost)::float8 as cost, max(q.at) as last_at,
       (array_agg(q.error order by q.id desc) filter (where q.error is not null))[1] as last_error
from unnest($1::bigint[]) as j (id)
cross join lateral (
    select id, at, provider, hit, ms, cost, error from catalogue.search_events
    where job_id = j.id order by id desc limit $2) q
group by j.id, q.provider order by j.id, q.provider

-- name: lately
-- The same for the newest questions of all jobs.
select provider, count(*) as asked, count(*) filter (where hit) as hits, count(*) filter (where not hit) as misses,
       count(*) filter (where hit is null) as unanswered, avg(ms)::float8 as milliseconds, sum(cost)::float8 as cost,
       max(at) as last_at, (array_agg(error order by id desc) filter (where error is not null))[1] as last_error
from (select id, at, provider, hit, ms, cost, error from catalogue.search_events order by id desc limit $1) newest
group by provider order by provider

-- name: of_task
-- Everything that was asked about one product, newest first.
select at, attempt, provider, query, hit, ms as milliseconds, cost::float8 as cost, error
from catalogue.search_events
where task_id = $1 order by id desc limit $2

-- name: products_estimate
-- About how many products are known here; counted by the server when it last analysed the table, -1: never.
select reltuples::bigint from pg_class where oid = 'catalogue.products'::regclass
