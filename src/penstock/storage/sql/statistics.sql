-- Besides the movements that folding notes (states 0 and 2 to 7), runners note what they measured: state 20 counts runs,
-- 21 runs that will be tried again, 22 milliseconds that runs took.

-- name: add
-- In one order for everybody, so that two runners cannot wait for each other.
insert into penstock.statistics as s (stage, minute, state, n)
select m.stage, date_trunc('minute', now()), k.state, k.n
from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[]) as m (stage, runs, retries, milliseconds)
cross join lateral (values (20::smallint, m.runs), (21::smallint, m.retries), (22::smallint, m.milliseconds)) as k (state, n)
where k.n <> 0
order by m.stage, k.state
on conflict (minute, stage, state) do update set n = s.n + excluded.n
