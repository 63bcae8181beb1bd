-- Figures of the embedding queue, read from the counters that the engine keeps, so that they cost the same whatever the
-- number of tasks.

-- name: counts
-- Tasks of the pipeline $1 by status, in one statement and so of one moment. What is present less what is leased waits;
-- in a cancelled lane it is as good as cancelled. Endings whose rows were removed (states 12 to 16) are not counted.
with lanes as (
    select l.id, l.cancelled_at is not null as cancelled,
           sum(case c.state when 0 then c.n else -c.n end) as present,
           coalesce(sum(case c.state when 2 then c.n when 12 then -c.n end), 0) as done,
           coalesce(sum(case c.state when 3 then c.n when 13 then -c.n end), 0) as error,
           coalesce(sum(case c.state when 4 then c.n when 14 then -c.n end), 0) as not_found,
           coalesce(sum(case c.state when 5 then c.n when 15 then -c.n end), 0) as skipped,
           coalesce(sum(case c.state when 6 then c.n when 16 then -c.n end), 0) as ended_cancelled
    from penstock.lanes l join penstock.counts c on c.lane = l.id
    where l.pipeline = $1
    group by l.id
), leased as (
    -- Never more than the fleet can hold.
    select q.lane, count(*) as running
    from penstock.stages s join penstock.queue q on q.stage = s.id and q.worker is not null
    where s.pipeline = $1
    group by q.lane
)
select coalesce(sum(l.present - coalesce(q.running, 0)) filter (where not l.cancelled), 0)::bigint as pending,
       coalesce(sum(q.running), 0)::bigint as processing,
       coalesce(sum(l.done + l.not_found + l.skipped), 0)::bigint as completed,
       coalesce(sum(l.error), 0)::bigint as failed,
       coalesce(sum(l.ended_cancelled + case when l.cancelled then l.present - coalesce(q.running, 0) else 0 end), 0)::bigint
           as cancelled
from lanes l left join leased q on q.lane = l.id

-- name: worker
-- What the workers did in the last day, from what folding and the runners note per minute, and who of them lives.
-- A replay takes endings back, so that a sum may be below zero.
with own as (
    select id from penstock.stages where pipeline = $1
), moved as (
    select greatest(coalesce(sum(n) filter (where state in (2, 4, 5)), 0), 0)::bigint as succeeded,
           greatest(coalesce(sum(n) filter (where state = 3), 0), 0)::bigint as failed,
           (sum(n) filter (where state = 22) / nullif(sum(n) filter (where state = 20), 0))::float8 as average_ms
    from penstock.statistics
    where stage in (select id from own) and minute >= now() - interval '24 hours'
), not_folded as (
    -- Endings of the last seconds, which no minute has yet.
    select coalesce(sum(c.n) filter (where c.state in (2, 4, 5)), 0)::bigint as succeeded,
           coalesce(sum(c.n) filter (where c.state = 3), 0)::bigint as failed
    from penstock.counts c where not c.folded and c.stage in (select id from own)
), served as (
    select max(w.heartbeat_at) as heartbeat_at,
           coalesce(bool_or(w.stopped_at is null and w.died_at is null and w.lease_until >= now()), false) as running
    from penstock.workers w where w.stages && array(select id from own)
), failure as (
    -- Of all failures the newest thousand are looked at.
    select max(finished_at) as at from (
        select stage, finished_at from penstock.outcomes where status = 3
        order by finished_at desc, task_id desc limit 1000) dead
    where stage in (select id from own)
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
