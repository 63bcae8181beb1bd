-- name: ripe
-- Rows that the gentle profile may claim: due and unchanged for at least $7 seconds. Only named here; who gets them is
-- decided by the claim by id. Stops at the first row of a lane that is not due for so long, by the order of the index.
select q.task_id
from unnest($1::integer[], $2::bigint[], $3::integer[], $4::timestamptz[], $5::bigint[])
    with ordinality as w (stage, lane, quota, after_run_at, after_task, place)
cross join lateral (
    select task_id, run_at from penstock.queue
    where stage = w.stage and lane = w.lane and worker is null
      and run_at <= now() - $7::double precision * interval '1 second'
      and updated_at <= now() - $7::double precision * interval '1 second'
      and (run_at, task_id) > (w.after_run_at, w.after_task)
    order by run_at, task_id limit w.quota) q
order by w.place, q.run_at, q.task_id
limit $6
