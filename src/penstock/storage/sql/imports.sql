-- name: create
insert into penstock.imports (job_id, file_id, kind, shape) values ($1, $2, $3, $4::text::jsonb)

-- name: assign
update penstock.imports set task_id = $2 where job_id = $1

-- name: get
-- Of several jobs. An import whose task ended badly, say because its process died three times, is a failed one.
select i.job_id, i.file_id, i.task_id, i.kind, i.shape::text as shape, i.rows_stored, i.bytes_read, f.size_bytes,
       i.batch_rows, i.batch_why, i.updated_at, j.pipeline, j.owner, j.cancelled_at is not null as cancelled,
       case when i.state in ('waiting', 'storing') and o.status <> 2 then 'failed' else i.state end as state,
       coalesce(i.problem, case when o.status is not null then jsonb_build_object('detail', o.error ->> 'message') end)::text as problem
from penstock.imports i
join penstock.jobs j on j.id = i.job_id
left join penstock.files f on f.id = i.file_id
left join penstock.outcomes o on o.task_id = i.task_id and o.status <> 2
where i.job_id = any ($1::bigint[])

-- name: advance
-- In the transaction that stores the rows. `rows_stored` is the fence: an import that was taken over meanwhile, or whose
-- job was cancelled, matches nothing, and its rows are rolled back. A cancel in the same moment finds the rows in the
-- job's lane and ends them there.
update penstock.imports i
set rows_stored = $2 + $3, bytes_read = $4, batch_rows = $3, batch_why = $5, state = 'storing', updated_at = now()
where i.job_id = $1 and i.rows_stored = $2 and i.state in ('waiting', 'storing')
  and exists (select from penstock.jobs j where j.id = $1 and j.cancelled_at is null)
returning i.rows_stored

-- name: finish
update penstock.imports set state = $2, problem = $3::text::jsonb, updated_at = now()
where job_id = $1 and state in ('waiting', 'storing') returning job_id
