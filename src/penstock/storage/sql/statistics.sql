-- Besides the movements that folding notes (states 0 and 2 to 7), runners note what they measured: state 20 counts runs,
-- 21 runs that will be tried again, 22 milliseconds that runs took, 23 waits that were measured, 24 their milliseconds;
-- 100 to 149 runs by how long they took, 150 to 199 waits. Once or twice a minute somebody notes how things stand: 30
-- what waits, 31 what runs, 32 seconds the oldest has been due; zeros are left out, and 33 of stage 0 says that somebody
-- looked. What is 30 or more is kept for two days.

-- name: add
-- In one order for everybody, so that two runners cannot wait for each other.
insert into penstock.statistics as s (stage, minute, state, n)
select m.stage, date_trunc('minute', now()), m.state, m.n
from unnest($1::integer[], $2::smallint[], $3::bigint[]) as m (stage, state, n)
order by m.stage, m.state
on conflict (minute, stage, state) do update set n = s.n + excluded.n

-- name: note
-- How things stand: of two looks in one minute the higher counts.
insert into penstock.statistics as s (stage, minute, state, n)
select m.stage, date_trunc('minute', now()), m.state, m.n
from unnest($1::integer[], $2::smallint[], $3::bigint[]) as m (stage, state, n)
order by m.stage, m.state
on conflict (minute, stage, state) do update set n = excluded.n where s.n < excluded.n

-- name: by_step
-- Sums per step of $2 minutes since $1, of all stages or of $3; of what was noted, the highest minute of the step.
with minutes as (
    select minute, state, case state when 32 then max(n) else sum(n) end as n
    from penstock.statistics
    where minute >= $1 and ($3::integer[] is null or stage = any ($3) or stage = 0)
    group by minute, state
)
select date_bin($2 * interval '1 minute', minute, $1) as at, state,
       (case when state between 30 and 33 then max(n) else sum(n) end)::bigint as n
from minutes group by 1, 2

-- name: spread
-- Runs and waits of the last hour by how long they took, per stage.
select stage, state, sum(n)::bigint as n from penstock.statistics
where minute >= now() - interval '1 hour' and state >= 100
group by stage, state

-- name: expire_details
-- An hour of them: whoever looks every minute meets each; what was missed goes with the rest.
delete from penstock.statistics
where minute >= now() - interval '49 hours' and minute < now() - interval '48 hours' and state >= 30
