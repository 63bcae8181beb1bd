-- What SQL outside the engine reads: docs/views.md has every column. Each view is plain SQL over primary keys and left
-- joins, so that the planner drops what a statement does not use and finds the same indexes as for the tables.

-- The state of a task, decided here and nowhere else; the numbers are those of lifecycle.State. What waits in a
-- cancelled lane is as good as cancelled: its sweep writes the outcome soon.
create or replace function penstock.task_state(ended smallint, worker bigint, lane_cancelled_at timestamptz) returns smallint
language sql immutable parallel safe
return case when ended is not null then ended when worker is not null then 1::smallint
            when lane_cancelled_at is not null then 6::smallint else 0::smallint end;

create or replace function penstock.state_name(state smallint) returns text
language sql immutable parallel safe
return (array['PENDING', 'PROCESSING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'])[state + 1];

-- One row per task that is stored.
create or replace view penstock.task_states as
select t.id as task_id, t.job_id, t.owner, s.pipeline, s.name as stage,
       penstock.state_name(penstock.task_state(o.status, q.worker, l.cancelled_at)) as state,
       coalesce(q.attempt, o.attempts)::integer as attempts, q.max_attempts::integer as max_attempts,
       coalesce(q.run, o.run)::integer as run, coalesce(q.lease, o.lease) as lease, coalesce(q.worker, o.worker) as worker,
       q.run_at, coalesce(q.updated_at, o.finished_at) as updated_at, t.created_at, o.result, o.error,
       penstock.task_state(o.status, q.worker, l.cancelled_at) as status, t.input, t.options, t.replaces,
       o.finished_at, l.priority::integer as priority, s.id as stage_id, t.entry as entry_stage_id,
       coalesce(o.status = 5 and o.error ->> 'type' = 'Replaced' and o.error ? 'task_id', false) as replaced
from penstock.tasks t
left join penstock.queue q on q.task_id = t.id
left join penstock.outcomes o on o.task_id = t.id
left join penstock.stages s on s.id = coalesce(q.stage, o.stage)
left join penstock.lanes l on l.id = coalesce(q.lane, o.lane);

-- Only tasks that have not ended.
create or replace view penstock.queued_tasks as
select q.task_id, l.job_id, s.pipeline, s.name as stage, q.stage as stage_id, q.lane as lane_id,
       penstock.task_state(null, q.worker, l.cancelled_at) as status,
       penstock.state_name(penstock.task_state(null, q.worker, l.cancelled_at)) as state,
       q.worker is not null as running, l.cancelled_at is not null as cancelled,
       q.worker, q.lease, q.attempt::integer as attempts, q.max_attempts::integer as max_attempts,
       q.run::integer as run, q.run_at, q.updated_at, t.owner, t.input
from penstock.queue q
left join penstock.lanes l on l.id = q.lane
left join penstock.stages s on s.id = q.stage
left join penstock.tasks t on t.id = q.task_id;

-- Only tasks that have ended, as often as they have an outcome: once.
create or replace view penstock.task_outcomes as
select o.task_id, o.job_id, s.pipeline, s.name as stage, s.position::integer as stage_position, o.stage as stage_id,
       o.status, penstock.state_name(o.status) as state, o.attempts::integer as attempts, o.run::integer as run,
       o.worker, o.lease, o.version, o.finished_at, o.result, o.error,
       t.owner, t.input
from penstock.outcomes o
left join penstock.stages s on s.id = o.stage
left join penstock.tasks t on t.id = o.task_id;

-- Results of the stages that a task has passed.
create or replace view penstock.stage_results as
select c.task_id, s.pipeline, s.name as stage, s.position::integer as stage_position, c.run::integer as run, c.version,
       c.reused_from::integer as reused_from, c.at, c.result
from penstock.checkpoints c
left join penstock.stages s on s.id = c.stage;

-- Runs that did not end their task, and what else happened to it.
create or replace view penstock.task_history as
select a.task_id, a.at, s.pipeline, s.name as stage, a.run::integer as run, a.attempt::integer as attempt, a.lease,
       a.worker, a.cause, a.burned, a.error, a.next_run_at
from penstock.attempts a
left join penstock.stages s on s.id = a.stage;

-- One row per job. The counters of its lanes and its leased tasks are read only where a column asks for them; only leased
-- rows are counted, and there are never more than the fleet can run.
create or replace view penstock.job_states as
select j.id as job_id, j.pipeline, j.name, j.owner, j.metadata, j.created_at,
       case when j.cancelled_at is not null then 'CANCELLED'
            -- While rows of its file still come, it is not done. Without tasks it waits for the first, unless it called back.
            when c.present <= 0 and not i.importing
                 and (c.total <> 0 or i.import_failed or j.called_back_at is not null)
                then case when c.error <> 0 or i.import_failed then 'FAILED' else 'DONE' end
            when j.paused_at is not null then 'PAUSED'
            when r.running > 0 or c.total <> c.present then 'RUNNING'
            else 'QUEUED' end as state,
       j.paused_at, j.paused_by, j.pause_reason, j.cancelled_at, j.cancelled_by, j.deleted_at, i.importing,
       c.total, case when j.cancelled_at is null then c.present - r.running else 0 end as pending, r.running as processing,
       c.done, c.error, c.not_found, c.skipped,
       c.cancelled + case when j.cancelled_at is null then 0 else c.present - r.running end as cancelled
from penstock.jobs j
left join lateral (
    select coalesce(sum(case state when 0 then n else -n end), 0)::bigint as present,
           coalesce(sum(case state when 0 then n when 7 then -n else 0 end), 0)::bigint as total,
           coalesce(sum(n) filter (where state = 2), 0)::bigint as done,
           coalesce(sum(n) filter (where state = 3), 0)::bigint as error,
           coalesce(sum(n) filter (where state = 4), 0)::bigint as not_found,
           coalesce(sum(n) filter (where state = 5), 0)::bigint as skipped,
           coalesce(sum(n) filter (where state = 6), 0)::bigint as cancelled
    from penstock.lanes l join penstock.counts k on k.lane = l.id where l.job_id = j.id) c on true
left join lateral (
    select count(*) as running from penstock.lanes l
    join penstock.stages s on s.pipeline = l.pipeline
    join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null
    where l.job_id = j.id) r on true
left join lateral (
    -- Whether rows of its file may still come, or will not though they should.
    select coalesce(bool_or(m.state in ('waiting', 'storing') and o.task_id is null), false) as importing,
           coalesce(bool_or(m.state = 'failed' or m.state in ('waiting', 'storing') and o.task_id is not null), false)
               as import_failed
    from penstock.imports m left join penstock.outcomes o on o.task_id = m.task_id and o.status <> 2
    where m.job_id = j.id) i on true;

-- Lanes with what was decided about them or their job.
create or replace view penstock.lane_states as
select l.id as lane_id, l.pipeline, l.key, l.priority::integer as priority, l.job_id, l.owner, l.weight::integer as weight,
       l.max_running, l.active, l.paused_at is not null or j.paused_at is not null as paused,
       l.cancelled_at is not null or j.cancelled_at is not null or j.deleted_at is not null as cancelled, l.opened_at
from penstock.lanes l
left join penstock.jobs j on j.id = l.job_id;

-- Stages with what they hold: the counters of their lanes, their leased tasks, and whether somebody serves them.
create or replace view penstock.stage_load as
select s.id as stage_id, s.pipeline, s.name as stage, s.position::integer as position, s.application,
       s.max_attempts::integer as max_attempts, s.max_running, s.paused_at is not null as paused, s.paused_at, s.paused_by,
       s.pause_reason,
       (select count(*) from penstock.queue q where q.stage = s.id and q.worker is not null) as running,
       coalesce((select sum(case c.state when 0 then c.n else -c.n end) from penstock.lanes l
                 join penstock.counts c on c.lane = l.id and c.stage = s.id
                 where l.pipeline = s.pipeline and l.active and l.cancelled_at is null), 0)::bigint as unfinished,
       exists (select from penstock.workers w
               where s.id = any (w.stages) and w.stopped_at is null and w.died_at is null and w.lease_until >= now()) as served
from penstock.stages s;

create or replace view penstock.worker_states as
select w.id as worker_id, w.name, w.host, w.pid, w.version, w.stages as stage_ids, w.started_at, w.heartbeat_at, w.stopped_at,
       w.died_at, w.stopped_at is null and w.died_at is null and w.lease_until >= now() as live
from penstock.workers w;

-- What a key may be asked now, and what holds it up.
create or replace view penstock.limit_states as
select l.key, l.rate, l.burst, nullif(l.blocked_until, '-infinity') as blocked_until,
       extract(epoch from greatest(l.blocked_until, statement_timestamp()) - statement_timestamp())::float8 as blocked_seconds,
       case when l.blocked_until > statement_timestamp() then l.blocked_reason end as blocked_reason,
       case when l.rate is not null
            then floor(l.burst - l.rate * extract(epoch from greatest(l.tat, statement_timestamp()) - statement_timestamp())::float8
                )::bigint end as available,
       l.penalties, l.penalised_at, l.penalty_reason, l.updated_at
from penstock.limits l
-- The row of a limit that was removed stays for a while, for those that still remember it.
where l.rate is not null or l.blocked_until > '-infinity';

-- Counters: several rows per lane, stage and status, to be summed. What retention removed stays ended, and is not kept.
create or replace view penstock.task_counts as
select l.job_id, l.pipeline, s.name as stage, s.position::integer as stage_position, c.stage as stage_id, c.lane as lane_id,
       l.cancelled_at is not null as lane_cancelled,
       (case when c.state between 2 and 6 then c.state when c.state between 12 and 16 then c.state - 10 end)::smallint as status,
       case c.state when 0 then c.n else -c.n end as unfinished,
       case when c.state between 2 and 6 then c.n else 0 end as ended,
       case when c.state between 2 and 6 then c.n when c.state between 12 and 16 then -c.n else 0 end as kept,
       c.folded, c.at
from penstock.counts c
left join penstock.lanes l on l.id = c.lane
left join penstock.stages s on s.id = c.stage;

-- What moved in each minute, to be summed over status.
create or replace view penstock.stage_minutes as
select m.stage as stage_id, s.pipeline, s.name as stage, m.minute,
       (case when m.state between 2 and 6 then m.state end)::smallint as status,
       case when m.state = 0 then m.n else 0 end as arrived, case when m.state between 2 and 6 then m.n else 0 end as ended,
       case when m.state = 20 then m.n else 0 end as runs, case when m.state = 21 then m.n else 0 end as retries,
       case when m.state = 22 then m.n else 0 end as run_ms
from penstock.statistics m
left join penstock.stages s on s.id = m.stage
where m.state < 30;
