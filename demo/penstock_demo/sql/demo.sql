-- name: bound
-- Nobody may enqueue while it is decided what holds nothing; and nobody is made to wait for long.
set local lock_timeout = '5s'

-- name: lock
-- Stops new tasks, not readers; waits for transactions that have stored some.
lock table penstock.tasks in share row exclusive mode

-- name: delete_schedules
-- Those that the demonstration declared, not a person's of the same name.
delete from penstock.schedules where source = $1 and pipeline = any ($2::text[]) returning name

-- name: delete_tasks
-- Its own tasks, known by their jobs' names or by the schedule that fired them, with everything that hangs on them.
-- One that a worker holds stays.
with own as (
    select t.id
    from penstock.tasks t
    join penstock.stages s on s.id = t.entry
    left join penstock.jobs j on j.id = t.job_id
    left join penstock.queue q on q.task_id = t.id
    where s.pipeline = any ($1::text[]) and q.worker is null
      and (starts_with(j.name, $2) or starts_with(t.idempotency_key, $3))
), waiting as (
    delete from penstock.queue where task_id in (select id from own)
), outcomes as (
    delete from penstock.outcomes where task_id in (select id from own)
), attempts as (
    delete from penstock.attempts where task_id in (select id from own)
), checkpoints as (
    delete from penstock.checkpoints where task_id in (select id from own)
), gone as (
    delete from penstock.tasks where id in (select id from own) returning id
)
select count(*) from gone

-- name: delete_jobs
-- Empty now, with their lanes and counts.
with gone as (
    delete from penstock.jobs j
    where j.pipeline = any ($1::text[]) and starts_with(j.name, $2)
      and not exists (select from penstock.tasks t where t.job_id = j.id)
    returning id
), lanes as (
    delete from penstock.lanes where job_id in (select id from gone) returning id
), counts as (
    delete from penstock.counts where lane in (select id from lanes)
)
select count(*) from gone

-- name: delete_stages
-- Of pipelines without any task, with their lanes and figures. A pipeline that holds somebody's task stays whole.
with empty as (
    select s.pipeline from penstock.stages s
    where s.pipeline = any ($1::text[])
    group by s.pipeline
    having not exists (select from penstock.tasks t where t.entry = any (array_agg(s.id)))
), lanes as (
    delete from penstock.lanes where pipeline in (select pipeline from empty) returning id
), gone as (
    delete from penstock.stages where pipeline in (select pipeline from empty) returning id, pipeline
), counts as (
    delete from penstock.counts where stage in (select id from gone)
), figures as (
    delete from penstock.statistics where stage in (select id from gone)
)
select distinct pipeline from gone order by pipeline

-- name: kept
-- What is still there, to be told.
select distinct pipeline from penstock.stages where pipeline = any ($1::text[]) order by pipeline
