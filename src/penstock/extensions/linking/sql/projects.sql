-- Projects. A deleted one is as good as gone: no query but those of the removal sees it.

-- name: create
insert into record_linking.projects (name, owner, source, columns, roles, options)
values ($1, $2, $3, $4, $5::text::jsonb, $6::text::jsonb)
returning id, name, owner, source, columns, roles::text as roles, options::text as options, run, job_id, started_at,
          ended_at, types_key, created_at, updated_at

-- name: get
select id, name, owner, source, columns, roles::text as roles, options::text as options, run, job_id, started_at,
       ended_at, types_key, created_at, updated_at
from record_linking.projects where id = $1 and deleted_at is null

-- name: get_for_update
-- Whoever starts, cancels or changes a project does so alone; tasks that write for it hold it in share.
select id, name, owner, source, columns, roles::text as roles, options::text as options, run, job_id, started_at,
       ended_at, types_key, created_at, updated_at
from record_linking.projects where id = $1 and deleted_at is null for update

-- name: hold
-- Before a task writes: as long as its transaction is open, nobody cancels or deletes the project. $2 null: any run.
select id, name, owner, source, columns, roles::text as roles, options::text as options, run, job_id, started_at,
       ended_at, types_key, created_at, updated_at
from record_linking.projects
where id = $1 and ($2::integer is null or run = $2 and ended_at is null) and deleted_at is null for share

-- name: page
-- The newest changed first; $1 the owner, null for everybody; behind ($2, $3).
select id, name, owner, source, columns, roles::text as roles, options::text as options, run, job_id, started_at,
       ended_at, types_key, created_at, updated_at
from record_linking.projects
where deleted_at is null and ($1::text is null or owner = $1)
  and ($2::timestamptz is null or (updated_at, id) < ($2, $3::bigint))
order by updated_at desc, id desc limit $4

-- name: running_of_source
-- What entities are fetched for right now: tells which languages and properties are of use.
select id, name, owner, source, columns, roles::text as roles, options::text as options, run, job_id, started_at,
       ended_at, types_key, created_at, updated_at
from record_linking.projects
where source = $1 and started_at is not null and ended_at is null and deleted_at is null

-- name: fetching_of_source
-- Whose jobs may take fetches: what a paused one gets, nobody fetches.
select p.id, p.run from record_linking.projects p
join penstock.job_states j on j.job_id = p.job_id and j.paused_at is null and j.cancelled_at is null
where p.source = $1 and p.started_at is not null and p.ended_at is null and p.deleted_at is null
  and not exists (select from penstock.lane_states l
                  where l.job_id = j.job_id and l.pipeline = $2 and (l.paused or l.cancelled))
order by p.id

-- name: change
-- Name, roles and options; null leaves one as it is.
update record_linking.projects
set name = coalesce($2, name), roles = coalesce($3::text::jsonb, roles), options = coalesce($4::text::jsonb, options),
    updated_at = now()
where id = $1 and deleted_at is null
returning id, name, owner, source, columns, roles::text as roles, options::text as options, run, job_id, started_at,
          ended_at, types_key, created_at, updated_at

-- name: begin_run
-- From here on, writes of earlier runs find nothing to change.
update record_linking.projects
set run = run + 1, types_key = $2, job_id = null, started_at = now(), ended_at = null, updated_at = now()
where id = $1 returning run

-- name: remember_job
-- $3: it is the job of the current run; others only have to be found when the project is deleted.
update record_linking.projects
set jobs = array_append(jobs, $2::bigint), job_id = case when $3 then $2 else job_id end
where id = $1

-- name: cancel_run
-- The run grows, so that what is still under way finds nothing to write to.
update record_linking.projects set run = run + 1, ended_at = now(), updated_at = now()
where id = $1 and deleted_at is null and started_at is not null and ended_at is null

-- name: end_run
-- Only when no record is under way any more. Asked after a commit, so the last one that ends sees it.
update record_linking.projects p set ended_at = now(), updated_at = now()
where id = $1 and run = $2 and ended_at is null and deleted_at is null
  and not exists (select from record_linking.records r where r.project_id = p.id and r.state in (1, 2))
returning id

-- name: mark_deleted
-- Waits for the transactions that hold it; after this nobody writes for it.
update record_linking.projects set deleted_at = now() where id = $1 and deleted_at is null returning jobs

-- name: deleted
-- Whose jobs and rows are still to be taken away: the process that began may have died.
select id, jobs from record_linking.projects where deleted_at is not null order by id limit $1

-- name: remove_records
-- A batch of records with their candidates and decisions, which go by the keys between the tables.
delete from record_linking.records where id = any (array(
    select id from record_linking.records where project_id = $1 limit $2))

-- name: remove
-- The project itself, once it is empty.
delete from record_linking.projects p
where p.id = $1 and p.deleted_at is not null
  and not exists (select from record_linking.records r where r.project_id = p.id)
