-- What happens to generations: filled, ready, switched to, dropped.

-- name: lock_all
-- Moves are few and short; one at a time keeps "exactly one is active" simple. In id order: no deadlock.
select id from article_search.generations order by id for no key update

-- name: follow_job
-- The job that fills it now, for the task that makes it ready.
update article_search.generations set job_id = $2 where id = $1 and state = 'building'

-- name: note
-- What it waits for. Written only when it says something else: a build looks every few seconds.
update article_search.generations set note = $2 where id = $1 and state = 'building' and note is distinct from $2

-- name: ready
-- Only while it is being built: one that was dropped meanwhile stays dropped.
update article_search.generations set state = 'ready', ready_at = now(), note = $2
where id = $1 and state = 'building' returning id

-- name: stand_by
-- First half of a switch; the index on the active one allows no two.
update article_search.generations set state = 'standby' where state = 'active'

-- name: activate
-- Second half of a switch.
update article_search.generations set state = 'active', activated_at = clock_timestamp()
where id = $1 and state in ('ready', 'standby') returning id

-- name: leave
-- First half of a roll-back: it is not what anything is rolled back to, until somebody switches to it again.
update article_search.generations set state = 'standby', activated_at = null where state = 'active'

-- name: reactivate
-- Second half of a roll-back. The time stays, so that the next one goes further back.
update article_search.generations set state = 'active' where id = $1 and state = 'standby' returning id

-- name: active_before
-- What a roll-back takes: of those on standby the last one that was switched to before the active one.
select s.id from article_search.generations s
join article_search.generations a on a.state = 'active' and s.activated_at < a.activated_at
where s.state = 'standby' order by s.activated_at desc limit 1

-- name: mark_dropped
update article_search.generations set state = 'dropped', dropped_at = now(), note = null
where id = $1 and state not in ('active', 'dropped') returning id

-- name: drop_vectors
-- With the indexes on it.
drop table if exists article_search.vectors_0

-- name: forget_indexed
-- What was known of it, a batch at a time: a million rows in one statement would hold back vacuum.
delete from article_search.indexed where ctid = any (array(
    select ctid from article_search.indexed where generation = $1 limit $2))

-- name: left_out
-- Articles that are not up to date in it though they were there before $2, or whose embedding failed since they were
-- saved. The time leaves out what was saved later and still waits: that has a task of its own.
with failed as materialized (
    select (input ->> 'article')::bigint as id, max(finished_at) as at
    from penstock.task_outcomes
    where status = 3 and pipeline = $3 and (input ->> 'generation')::integer = $1
    group by 1
)
select count(*) from article_search.articles a
left join article_search.indexed i on i.article_id = a.id and i.generation = $1
left join failed f on f.id = a.id
where (i.article_id is null or i.revision < a.revision)
  and (coalesce(a.updated_at < $2::timestamptz, false) or coalesce(f.at >= a.updated_at, false))

-- name: any_indexed
-- For deciding whether there is an index at all.
select exists (select from article_search.indexed where generation = $1 and chunks > 0)

-- name: newest_failure
-- Why articles are not in it.
select error::text as error, extract(epoch from now() - finished_at)::float8 as age_seconds
from penstock.task_outcomes
where status = 3 and pipeline = $2 and (input ->> 'generation')::integer = $1
order by finished_at desc limit 1

-- name: job_began
select created_at from penstock.job_states where job_id = $1

-- name: next_transaction
-- Every transaction that began to write before now has a smaller number.
select pg_snapshot_xmax(pg_current_snapshot())::text

-- name: all_ended_before
-- Whether every one of them has ended.
select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8

-- name: hurry
-- For this transaction: give up a lock that others hold rather than make them queue behind us.
select set_config('lock_timeout', $1, true)
