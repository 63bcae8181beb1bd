-- States of a counter: 0 arrivals at a stage, 2 to 6 endings there, 7 moved on. Endings whose rows have been removed stay
-- counted, because a job's counts outlive its rows; 12 to 16 say how many of 2 to 6 they are, and 10 weighs those out, so
-- that arrivals less all other states is what is present, whoever adds them up. So 2 less 12, and so on, is how many rows are
-- stored: what was edited is stored and counted by its copy alone, which is a 15 below nothing.

-- name: fold
-- Merges appended counts into one row per (lane, stage, state) and notes the movement per minute.
with taken as (
    delete from penstock.counts
    where ctid = any (array(
        select ctid from penstock.counts where not folded order by at limit $1 for update skip locked))
    returning lane, stage, state, n, at
), before as (
    delete from penstock.counts c
    using (select distinct lane, stage, state from taken) k
    where c.lane = k.lane and c.stage = k.stage and c.state = k.state and c.folded
    returning c.lane, c.stage, c.state, c.n
), merged as (
    insert into penstock.counts (lane, stage, state, n, folded)
    select lane, stage, state, sum(n), true
    from (select lane, stage, state, n from taken union all select lane, stage, state, n from before) rows
    group by 1, 2, 3 having sum(n) <> 0
), by_minute as (
    insert into penstock.statistics as s (stage, minute, state, n)
    select stage, date_trunc('minute', at), state, sum(n) from taken group by 1, 2, 3
    on conflict (minute, stage, state) do update set n = s.n + excluded.n
)
select count(*) from taken

-- name: expire_statistics
delete from penstock.statistics where minute < now() - $1 * interval '1 second'
