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
left join penstock.task_outcomes o on o.task_id = t.id and o.status = 2
left join website_analysis.orders w on w.task_id = t.id

-- name: analyses
-- The newest analyses of an owner (null: of everybody) behind a job. Looks at a bounded number of jobs, and says where
-- it stopped, so that somebody with many other jobs gets short pages rather than slow ones.
select job_id as id, pipeline, name, owner, created_at, metadata::text as metadata from (
    select job_id, pipeline, name, owner, created_at, metadata from penstock.job_states
    where deleted_at is null and ($1::text is null or owner = $1) and ($2::bigint is null or job_id < $2)
    order by job_id desc limit $3) newest
order by job_id desc

-- name: waiting_for_approval
-- Sites of a job that wait before their models, oldest first; only those are asked for that a person could approve.
select q.task_id from penstock.queued_tasks q
left join website_analysis.orders w on w.task_id = q.task_id
where q.job_id = $1 and q.stage = $2 and w.approved_at is null and q.task_id > $3
order by q.task_id limit $4

-- name: prompts_of
-- How many prompts these sites have, and their length: what it may cost to ask them. Those that a person wrote, else the
-- newest that were formed.
select count(asked) as prompts, coalesce(sum(octet_length(asked ->> 'text')), 0)::bigint as bytes
from unnest($1::bigint[]) as t (id)
left join website_analysis.orders w on w.task_id = t.id
left join lateral (
    select c.result -> 'prompts' as prompts from penstock.stage_results c
    where c.task_id = t.id and c.stage = $2 order by c.run desc limit 1) formed on true
cross join lateral jsonb_array_elements(coalesce(w.prompts, formed.prompts, '[]')) as asked

-- name: waiting_at
-- Of these sites, those that wait before the stage. One that a runner holds and that is not approved waits as well: it is
-- looking for its approval right now, or is about to.
select q.task_id from penstock.queued_tasks q
left join website_analysis.orders w on w.task_id = q.task_id
where q.task_id = any ($1::bigint[]) and q.stage = $2 and (not q.running or w.approved_at is null)

-- name: ended
-- Sites of a job that ended in one of these states, from the oldest id on: those whose options change before they run
-- again.
with ended as materialized (
    -- By the index of the job, not in the order of all tasks there are.
    select task_id from penstock.task_outcomes where job_id = $1 and status = any ($2::smallint[]) and task_id > $3
)
select task_id from ended order by task_id limit $4

-- name: stages
-- The newest result of each stage of a site; that of the last stage is its outcome until it runs again.
select distinct on (stage_position) stage, run, version, reused_from, at, result::text as result
from (
    select stage, stage_position, run, version, reused_from, at, result from penstock.stage_results where task_id = $1
    union all
    select stage, stage_position, run, version, null, finished_at, result from penstock.task_outcomes
    where task_id = $1 and status = 2) made
order by stage_position, run desc

-- name: steps
-- Where the sites of these analyses stand, from the kept counters, for a page of them; only leased rows are counted.
select l.job_id, s.stage as name, s.position, sum(c.present)::bigint as present, sum(c.well)::bigint as well,
       sum(c.error)::bigint as error, sum(c.cancelled)::bigint as cancelled, sum(q.running)::bigint as running
from penstock.lane_states l
join penstock.stage_load s on s.pipeline = l.pipeline
cross join lateral (
    select coalesce(sum(unfinished), 0) as present, coalesce(sum(ended) filter (where status in (2, 4, 5)), 0) as well,
           coalesce(sum(ended) filter (where status = 3), 0) as error,
           coalesce(sum(ended) filter (where status = 6), 0) as cancelled
    from penstock.task_counts where lane_id = l.lane_id and stage_id = s.stage_id) c
cross join lateral (
    select count(*) as running from penstock.queued_tasks
    where stage_id = s.stage_id and lane_id = l.lane_id and running) q
where l.job_id = any ($1::bigint[])
group by l.job_id, s.stage, s.position order by l.job_id, s.position
