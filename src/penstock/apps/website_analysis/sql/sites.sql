-- What pages about analyses show beside what the engine knows of tasks and jobs.

-- name: more
-- Of these sites: the scores of the last run without their long parts, and what people decided. Chosen inside the
-- result, because a whole one may hold every answer's excerpt.
select t.id as task_id, o.result -> 'scores' -> 'coverage' as coverage, o.result -> 'scores' -> 'visibility' as visibility,
       (o.result -> 'scores' ->> 'unsupported')::integer as unsupported,
       (o.result -> 'scores' ->> 'cost')::double precision as cost,
       o.result -> 'columns' ->> 'Name' as name, o.result -> 'scores' -> 'improvements' as improvements,
       w.approved_at, coalesce(w.prompts is not null, false) as edited
from unnest($1::bigint[]) as t (id)
left join penstock.outcomes o on o.task_id = t.id and o.status = 2
left join website_analysis.orders w on w.task_id = t.id

-- name: analyses
-- The newest analyses of an owner (null: of everybody) behind a job. Looks at a bounded number of jobs, and says where
-- it stopped, so that somebody with many other jobs gets short pages rather than slow ones.
select id, pipeline = $3 as wanted, name, owner, created_at, metadata::text as metadata from (
    select id, pipeline, name, owner, created_at, metadata from penstock.jobs
    where deleted_at is null and ($1::text is null or owner = $1) and ($2::bigint is null or id < $2)
    order by id desc limit $4) newest
order by id desc

-- name: waiting_for_approval
-- Sites of a job that wait before their models, oldest first; only those are asked for that a person could approve.
select q.task_id from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline and s.name = $2
join penstock.queue q on q.stage = s.id and q.lane = l.id
left join website_analysis.orders w on w.task_id = q.task_id
where l.job_id = $1 and w.approved_at is null and q.task_id > $3
order by q.task_id limit $4

-- name: prompts_of
-- How many prompts these sites have, and their length: what it may cost to ask them. Those that a person wrote, else the
-- newest that were formed.
select count(asked) as prompts, coalesce(sum(octet_length(asked ->> 'text')), 0)::bigint as bytes
from unnest($1::bigint[]) as t (id)
left join website_analysis.orders w on w.task_id = t.id
left join lateral (
    select c.result -> 'prompts' as prompts
    from penstock.checkpoints c join penstock.stages s on s.id = c.stage
    where c.task_id = t.id and s.name = $2 order by c.run desc limit 1) formed on true
cross join lateral jsonb_array_elements(coalesce(w.prompts, formed.prompts, '[]')) as asked

-- name: waiting_at
-- Of these sites, those that wait before the stage. One that a runner holds and that is not approved waits as well: it is
-- looking for its approval right now, or is about to.
select q.task_id from penstock.queue q join penstock.stages s on s.id = q.stage
left join website_analysis.orders w on w.task_id = q.task_id
where q.task_id = any ($1::bigint[]) and s.name = $2 and (q.worker is null or w.approved_at is null)

-- name: ended
-- Sites of a job that ended in one of these states, from the oldest id on: those whose options change before they run
-- again.
select task_id from penstock.outcomes
where job_id = $1 and status = any ($2::smallint[]) and task_id > $3
order by task_id limit $4

-- name: stages
-- The newest result of each stage of a site; that of the last stage is its outcome until it runs again.
select distinct on (s.position) s.name as stage, made.run, made.version, made.reused_from, made.at,
       made.result::text as result
from (
    select stage, run, version, reused_from, at, result from penstock.checkpoints where task_id = $1
    union all
    select stage, run, version, null, finished_at, result from penstock.outcomes where task_id = $1 and status = 2) made
join penstock.stages s on s.id = made.stage
order by s.position, made.run desc

-- name: steps
-- Where the sites of these analyses stand, from the kept counters, for a page of them; only leased rows are counted.
select l.job_id, s.name, s.position, sum(c.present)::bigint as present, sum(c.well)::bigint as well,
       sum(c.error)::bigint as error, sum(c.cancelled)::bigint as cancelled, sum(q.running)::bigint as running
from penstock.lanes l
join penstock.stages s on s.pipeline = l.pipeline
cross join lateral (
    select coalesce(sum(case state when 0 then n else -n end), 0) as present,
           coalesce(sum(n) filter (where state in (2, 4, 5)), 0) as well,
           coalesce(sum(n) filter (where state = 3), 0) as error,
           coalesce(sum(n) filter (where state = 6), 0) as cancelled
    from penstock.counts where lane = l.id and stage = s.id) c
cross join lateral (
    select count(*) as running from penstock.queue where stage = s.id and lane = l.id and worker is not null) q
where l.job_id = any ($1::bigint[])
group by l.job_id, s.name, s.position order by l.job_id, s.position
