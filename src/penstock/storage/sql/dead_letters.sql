-- Tasks that ended as ERROR, seen apart from the other endings.

-- name: page
-- Newest first behind a position, in a bounded window; the whole input comes along because it is what gets edited.
with seen as materialized (
    select task_id, finished_at, job_id, attempts, run, error, stage from penstock.outcomes
    where status = 3 and (finished_at, task_id) < ($1, $2) and finished_at >= $3
    order by finished_at desc, task_id desc limit $4
), matching as (
    select * from seen
    where ($5::text is null or stage in (select s.id from penstock.stages s where s.pipeline = $5))
      and ($6::text is null or error ->> 'type' = $6)
      and ($7::bigint is null or job_id = $7)
      and ($9::text is null or exists (select from penstock.tasks o where o.id = seen.task_id and o.owner = $9))
    order by finished_at desc, task_id desc limit $8
), ending as (
    -- How far this page looked, also when nothing matched.
    select count(*) as looked, min(finished_at) as last_at from seen
)
select e.looked, e.last_at, (select min(n.task_id) from seen n where n.finished_at = e.last_at) as last_id,
       m.task_id, m.finished_at, m.job_id, m.attempts, m.run, m.error::text as error, s.pipeline, s.name as stage,
       t.input::text as input, t.owner, now() as read_at
from ending e
left join matching m on true
left join penstock.stages s on s.id = m.stage
left join penstock.tasks t on t.id = m.task_id
order by m.finished_at desc nulls last, m.task_id desc

-- name: origin
-- What an edited copy takes over from its original. The name of a job's lane ends in the job, which enqueue adds itself.
select t.id as task_id, t.job_id, t.owner, t.options::text as options, t.trace, t.input::text as input, s.pipeline,
       case when t.job_id is null then l.key
            else nullif(regexp_replace(l.key, '(^| )job:' || t.job_id || '$', ''), '') end as lane, l.priority, o.status
from penstock.tasks t
join penstock.stages s on s.id = t.entry
left join penstock.outcomes o on o.task_id = t.id
left join penstock.lanes l on l.id = o.lane
where t.id = $1

-- name: copy
-- The edited copy: a task of its own that names the one it stands for.
select task_id from penstock.enqueue(
    pipeline => $1, input => $2::text::jsonb, priority => $3, lane => $4, owner => $5, job_id => $6,
    max_attempts => ($7::text::jsonb ->> 'max_attempts')::integer, options => $7::text::jsonb, trace => $8, replaces => $9)

-- name: failed_again
-- Of replayed tasks: how many have ended as ERROR once more, with the type of error they had.
select count(*) from unnest($1::bigint[], $2::timestamptz[], $3::text[]) as r (task_id, finished_at, type)
join penstock.outcomes o on o.task_id = r.task_id and o.status = 3 and o.finished_at > r.finished_at
where o.error ->> 'type' is not distinct from r.type
