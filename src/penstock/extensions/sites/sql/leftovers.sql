-- What belongs to tasks and jobs that retention, or a person, has removed. Looked for once a day, a batch at a time.

-- name: pages
with gone as (
    select distinct p.task_id from website_analysis.pages p
    where not exists (select from penstock.task_states t where t.task_id = p.task_id) limit $1
)
delete from website_analysis.pages p using gone where p.task_id = gone.task_id

-- name: answers
with gone as (
    select distinct a.task_id from website_analysis.answers a
    where not exists (select from penstock.task_states t where t.task_id = a.task_id) limit $1
)
delete from website_analysis.answers a using gone where a.task_id = gone.task_id

-- name: orders
with gone as (
    select o.task_id from website_analysis.orders o
    where not exists (select from penstock.task_states t where t.task_id = o.task_id) limit $1
)
delete from website_analysis.orders o using gone where o.task_id = gone.task_id

-- name: reservations
with gone as (
    select r.id from website_analysis.reservations r
    where not exists (select from penstock.task_states t where t.task_id = r.task_id) limit $1
)
delete from website_analysis.reservations r using gone where r.id = gone.id

-- name: budgets
-- A negative number is that of a task without a job.
with gone as (
    select b.job_id from website_analysis.budgets b
    where not exists (select from penstock.job_states j where j.job_id = b.job_id)
      and not exists (select from penstock.task_states t where t.task_id = -b.job_id) limit $1
)
delete from website_analysis.budgets b using gone where b.job_id = gone.job_id
