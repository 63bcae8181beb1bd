-- What tests and benches ask of a database of their own, apart from the statements that production runs.

-- name: fast_forward
-- For tests that do not want to wait: the earliest of the waiting rows become due, together, and keep their order.
with next as (
    select min(run_at) - now() as ahead from penstock.queue
    where stage = any ($1::integer[]) and worker is null and run_at > now()
)
update penstock.queue q set run_at = q.run_at - next.ahead
from next
where q.stage = any ($1::integer[]) and q.worker is null and q.run_at > now()

-- name: release_all
-- For tests that end in the middle: what the worker holds waits again, as if it had never been claimed.
update penstock.queue set worker = null, updated_at = now() where worker is not null and worker = $1

-- name: depth
-- Waiting and leased per stage, counted from the rows themselves, to be compared with the counters.
select stage, count(*) filter (where worker is null) as waiting, count(*) filter (where worker is not null) as leased
from penstock.queue group by stage

-- name: enqueued_with
-- Tasks of a pipeline whose input holds at least this, newest first.
select t.id from penstock.tasks t join penstock.stages s on s.id = t.entry
where s.pipeline = $1 and t.input @> $2::text::jsonb order by t.id desc

-- name: recent
-- What was enqueued last, as the message of a failed assertion shows it.
select t.id, s.pipeline, t.input::text as input, v.state
from penstock.tasks t join penstock.stages s on s.id = t.entry join penstock.task_states v on v.task_id = t.id
order by t.id desc limit $1
