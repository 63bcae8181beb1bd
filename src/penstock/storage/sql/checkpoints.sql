-- name: earlier
-- The newest result of the stage before ($6) the given one; and, where this run computed that anew and it came out the
-- same, what the given stage made of it before. A stage somebody asked to run again is the first of its run: nothing
-- before it is of this run, so it is always computed. Without a version nobody knows whether the code is the same.
-- Results of more than $5 bytes, as they are stored, stay where they are until they are asked for alone.
select k.task_id, before.run as previous_run, made.run as reusable_from, large.is as deferred,
       case when not large.is then before.result::text end as previous,
       case when not large.is then made.result::text end as reusable
from unnest($1::bigint[], $2::integer[], $3::smallint[], $4::text[], $6::integer[])
    as k (task_id, stage, run, version, before)
cross join lateral (
    select c.result, c.run, c.digest from penstock.checkpoints c
    where c.task_id = k.task_id and c.stage = k.before order by c.run desc limit 1) before
left join lateral (
    select own.result, own.run from penstock.checkpoints own
    where before.run = k.run and k.version is not null
      and own.task_id = k.task_id and own.stage = k.stage and own.run < k.run and own.version = k.version
      and before.digest = (
          select c.digest from penstock.checkpoints c
          where c.task_id = k.task_id and c.stage = k.before and c.run <= own.run order by c.run desc limit 1)
    order by own.run desc limit 1) made on true
cross join lateral (
    select coalesce(pg_column_size(before.result), 0) + coalesce(pg_column_size(made.result), 0) > $5 as is) large

-- name: of_stage
-- The newest result of one stage, by its name.
select c.result::text as result from penstock.checkpoints c
join penstock.stages s on s.id = c.stage
where c.task_id = $1 and s.name = $2 order by c.run desc limit 1

-- name: of_task
select c.stage, s.name, c.run, c.version, c.reused_from, c.result::text as result, c.at
from penstock.checkpoints c join penstock.stages s on s.id = c.stage
where c.task_id = $1 order by c.run, s.position
