-- name: previous
-- The newest result of the stage just before the given one.
select k.task_id, c.result::text as result
from unnest($1::bigint[], $2::integer[]) as k (task_id, stage)
join penstock.stages s on s.id = k.stage
join penstock.stages before on before.pipeline = s.pipeline and before.position = s.position - 1
cross join lateral (
    select result from penstock.checkpoints c
    where c.task_id = k.task_id and c.stage = before.id order by c.run desc limit 1) c

-- name: of_task
select c.stage, s.name, c.run, c.version, c.result::text as result, c.at
from penstock.checkpoints c join penstock.stages s on s.id = c.stage
where c.task_id = $1 order by c.run, s.position
