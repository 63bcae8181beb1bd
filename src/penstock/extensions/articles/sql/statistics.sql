-- Figures of the embedding queue, read from the counters that the engine keeps, so that they cost the same whatever the
-- number of tasks.

-- name: counts
-- Tasks of the pipeline $1 by status, in one statement and so of one moment. What is present less what is leased waits;
-- in a cancelled lane it is as good as cancelled. Endings whose rows were removed (states 12 to 16) are not counted.
with lanes as (
    select lane_id, lane_cancelled as cancelled, sum(unfinished) as present,
           coalesce(sum(kept) filter (where status in (2, 4, 5)), 0) as completed,
           coalesce(sum(kept) filter (where status = 3), 0) as error,
           coalesce(sum(kept) filter (where status = 6), 0) as ended_cancelled
    from penstock.task_counts where pipeline = $1
    group by lane_id, lane_cancelled
), leased as (
    -- Never more than the fleet can hold.
    select lane_id, count(*) as running from penstock.queued_tasks where pipeline = $1 and running group by lane_id
)
select coalesce(sum(l.present - coalesce(q.running, 0)) filter (where not l.cancelled), 0)::bigint as pending,
       coalesce(sum(q.running), 0)::bigint as processing,
       coalesce(sum(l.completed), 0)::bigint as completed,
       coalesce(sum(l.error), 0)::bigint as failed,
       coalesce(sum(l.ended_cancelled + case when l.cancelled then l.present - coalesce(q.running, 0) else 0 end), 0)::bigint
           as cancelled
from lanes l left join leased q using (lane_id)

-- name: worker
-- What the workers did in the last day, from what folding and the runners note per minute, and who of them lives.
-- A replay takes endings back, so that a sum may be below zero.
with own as (
    select stage_id from penstock.stage_load where pipeline = $1
), moved as (
    select greatest(coalesce(sum(ended) filter (where status in (2, 4, 5)), 0), 0)::bigint as succeeded,
           greatest(coalesce(sum(ended) filter (where status = 3), 0), 0)::bigint as failed,
           (sum(run_ms) / nullif(sum(runs), 0))::float8 as average_ms
    from penstock.stage_minutes
    where stage_id in (select stage_id from own) and minute >= now() - interval '24 hours'
), not_folded as (
    -- Endings of the last seconds, which no minute has yet.
    select coalesce(sum(ended) filter (where status in (2, 4, 5)), 0)::bigint as succeeded,
           coalesce(sum(ended) filter (where status = 3), 0)::bigint as failed
    from penstock.task_counts where not folded and stage_id in (select stage_id from own)
), served as (
    select max(heartbeat_at) as heartbeat_at, coalesce(bool_or(live), false) as running
    from penstock.worker_states where stage_ids && array(select stage_id from own)
), failure as (
    -- Of all failures the newest thousand are looked at.
    select max(finished_at) as at from (
        select stage_id, finished_at from penstock.task_outcomes where status = 3
        order by finished_at desc, task_id desc limit 1000) dead
    where stage_id in (select stage_id from own)
)
select served.running, served.heartbeat_at, moved.average_ms,
       greatest(moved.succeeded + not_folded.succeeded, 0) as succeeded,
       greatest(moved.failed + not_folded.failed, 0) as failed,
       greatest(failure.at, (
           select max(e.at) from article_search.generations g
           cross join lateral (
               select max(i.embedded_at) as at from article_search.indexed i where i.generation = g.id) e)) as last_processed_at
from moved, not_folded, served, failure

-- name: freshness
-- From a save to its vectors, over a day of the active generation.
select percentile_cont(0.5) within group (order by i.waited_ms) as p50_ms,
       percentile_cont(0.95) within group (order by i.waited_ms) as p95_ms, count(*) as measured
from article_search.generations g
join article_search.indexed i on i.generation = g.id and i.embedded_at >= now() - interval '24 hours'
where g.state = 'active' and i.chunks > 0 and i.waited_ms is not null
