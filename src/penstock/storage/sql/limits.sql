-- name: take
-- Permits for the requests of $2 (their weights, first come first), as many of the front as are due within $3
-- seconds. A heavy request may reserve further ahead, by as long as its permits take to grow (at most $4 seconds): just
-- far enough that it is never refused for what small ones have reserved, or they would eat every permit it waits for.
-- GCRA with T = 1/rate: a request of weight w may go at max(now, tat + wT - burst T) and moves tat by wT. T is rounded
-- up to a whole microsecond, so that all of this is exact and rounding never adds a permit.
with locked as materialized (
    -- The newest committed row, held until the commit. A plain UPDATE would not do: when the holder of the lock
    -- gives it up without a change, UPDATE goes on with values, and a clock, from before the wait.
    select rate, burst, tat, blocked_until from penstock.limits
    where key = $1 and rate is not null
    for no key update
),
timed as materialized (
    -- Read once, and after the lock: now() stands still since the transaction began, so whoever waited for the row
    -- would be served for a time long past, at once with all who waited beside it.
    select locked.*, clock_timestamp() as at, ceil(1e6 / rate) * interval '1 microsecond' as step from locked
),
begun as (
    -- Nothing goes before the block ends; a budget that was full is not fuller for having rested longer.
    select *, greatest(at, blocked_until) as start_at, greatest(at, blocked_until, tat) as base from timed
),
requests as (
    -- moved_tat is what tat will be after this request; a weight above the burst never fits.
    select begun.*, asked.place, asked.weight, base + sum(asked.weight) over front * step as moved_tat,
           bool_and(asked.weight <= burst) over front as fits
    from begun cross join unnest($2::integer[]) with ordinality as asked (weight, place)
    window front as (order by asked.place)
),
due as (
    select *, greatest(start_at, moved_tat - burst * step) as ready_at,
           at + ($3::float8 + case when weight > 1 then least(weight / rate, $4::float8) else 0 end)
                * interval '1 second' as reach
    from requests
),
judged as (
    -- Granted is a front of the list: who does not fit holds up those behind.
    select *, bool_and(fits and ready_at <= reach) over (order by place) as granted from due
),
limited as (
    select count(*) filter (where granted)::integer as granted,
           array_agg(extract(epoch from ready_at - at)::float8 order by place) filter (where granted) as delays,
           min(extract(epoch from ready_at - at)::float8) filter (where not granted) as wait_seconds,
           max(moved_tat) filter (where granted) as tat,
           rate, burst, at
    from judged group by rate, burst, at
),
taken as (
    update penstock.limits set tat = limited.tat from limited
    where limits.key = $1 and limited.granted > 0
),
free as (
    -- A key without a row or a rate: only a block holds it up, so nothing is locked or written.
    select max(blocked_until) as blocked_until, coalesce(bool_or(rate is not null), false) as has_rate,
           clock_timestamp() as at
    from penstock.limits where key = $1
)
select granted, coalesce(delays, '{}') as delays, wait_seconds, rate, burst, at from limited
union all
select case when blocked_until > at then 0 else cardinality($2::integer[]) end,
       case when blocked_until > at then '{}' else array_fill(0::float8, array[cardinality($2::integer[])]) end,
       case when blocked_until > at then extract(epoch from blocked_until - at)::float8 end,
       null, null, at
from free where not has_rate and not exists (select from limited)

-- name: standing
-- Before a permit that waited a while is used: is it still worth something? Locks nothing.
select rate, burst, extract(epoch from greatest(blocked_until, at) - at)::float8 as blocked_seconds
from penstock.limits, clock_timestamp() as at where key = $1

-- name: known
-- What a process has to know of the keys it uses, in one statement: the limit with its version, the block, the circuit;
-- and where limits are counted, which is the same in every row. While somebody tries an open circuit the others look
-- again after a pause, also if the probe may take longer.
select wanted.key, l.rate, l.burst, l.version, l.since,
       coalesce(extract(epoch from greatest(l.blocked_until, at) - at)::float8, 0) as blocked_seconds,
       c.failure_limit, c.pause_seconds, coalesce(c.failures, 0) as failures, c.opened_at is not null as open,
       case when c.opened_at is not null
            then greatest(least(extract(epoch from coalesce(c.probe_until,
                                                            c.opened_at + c.pause_seconds * interval '1 second') - at),
                                c.pause_seconds), 0)::float8 end as probe_in_seconds,
       s.store, s.number,
       case when s.number = 0 then 1e9 else extract(epoch from at - s.changed_at)::float8 end as changed_seconds,
       s.unsteady
from unnest($1::text[]) as wanted (key) cross join clock_timestamp() as at cross join penstock.limiter_store as s
     left join penstock.limits as l on l.key = wanted.key
     left join penstock.circuits as c on c.key = wanted.key

-- name: move
-- The fleet counts elsewhere from now on. Only one process wins each move: $2 is the number of the last one it knows.
-- Moves within $3 seconds of the last one are unsteady.
update penstock.limiter_store set
    store = $1, number = number + 1, changed_at = clock_timestamp(),
    unsteady = case when changed_at > clock_timestamp() - $3::float8 * interval '1 second'
                    then least(unsteady + 1, 20) else 0 end
where number = $2 and store <> $1
returning number

-- name: empty
-- Counting begins here $1 seconds from now, with nothing left: what the other store granted is not known.
update penstock.limits
set tat = clock_timestamp() + $1::float8 * interval '1 second' + burst * ceil(1e6 / rate) * interval '1 microsecond'
where rate is not null
  and tat < clock_timestamp() + $1::float8 * interval '1 second' + burst * ceil(1e6 / rate) * interval '1 microsecond'

-- name: touch
-- Keys that are counted in Redis are in use all the same; `forget_unused` goes by this. A budget that is full by now
-- stays full.
update penstock.limits set tat = greatest(tat, clock_timestamp()) where key = any($1::text[]) and rate is not null

-- name: store
-- Where limits are counted, and of which installation this database is.
select s.store, s.number, i.id::text as installation from penstock.limiter_store as s, penstock.installation as i

-- name: penalise
-- The block counts from the start of this statement, which is after the answer that asked for it; now() would be
-- the start of the caller's transaction and end the block early. After it the budget is empty but for one permit.
with before as (
    select blocked_until from penstock.limits where key = $1
),
blocked as (
    insert into penstock.limits as l (key, rate, blocked_until, blocked_reason, penalties, penalised_at, penalty_reason)
    values ($1, null, clock_timestamp() + $2::float8 * interval '1 second', $3, 1, clock_timestamp(), $3)
    on conflict (key) do update set
        blocked_until = greatest(l.blocked_until, excluded.blocked_until),
        blocked_reason = case when excluded.blocked_until > l.blocked_until
                              then excluded.blocked_reason else l.blocked_reason end,
        tat = case when l.rate is null then l.tat
                   else greatest(l.tat, greatest(l.blocked_until, excluded.blocked_until)
                                        + (l.burst - 1) * ceil(1e6 / l.rate) * interval '1 microsecond') end,
        penalties = l.penalties + 1,
        penalised_at = excluded.penalised_at,
        penalty_reason = excluded.penalty_reason,
        updated_at = clock_timestamp()
    returning blocked_until
)
-- How much longer than before, for one event per block instead of one per answer.
select extract(epoch from greatest(blocked.blocked_until, at) - at)::float8 as seconds_left,
       extract(epoch from blocked.blocked_until - greatest(before.blocked_until, at))::float8 as seconds_added
from clock_timestamp() as at, blocked left join before on true

-- name: configure
-- What was taken stays taken: the debt is carried over in permits, not in seconds, or a slower rate would forgive
-- it and a faster one wait too long. The same values again change nothing, also not permits reserved ahead.
insert into penstock.limits as l (key, rate, burst) values ($1, $2::float8, $3)
on conflict (key) do update set
    rate = excluded.rate,
    burst = excluded.burst,
    tat = greatest(clock_timestamp(), l.blocked_until)
        + ceil(least(excluded.burst,
                     coalesce(l.rate, 0) * extract(epoch from greatest(l.tat, clock_timestamp(), l.blocked_until)
                                                   - greatest(clock_timestamp(), l.blocked_until))::float8)
               * 1e6 / excluded.rate) * interval '1 microsecond',
    version = nextval('penstock.limit_numbers'),
    updated_at = clock_timestamp()
where (l.rate, l.burst) is distinct from (excluded.rate, excluded.burst)

-- name: listing
-- For people: what is left right now, and what holds a key up. A page behind a key; no limit is all of them. What was
-- removed is not shown.
select l.key, rate, burst, version, since,
       case when rate is not null
            then floor(burst - rate * extract(epoch from greatest(tat, at) - at)::float8)::bigint end as available,
       extract(epoch from greatest(blocked_until, at) - at)::float8 as blocked_seconds,
       case when blocked_until > at then blocked_reason end as blocked_reason,
       greatest(extract(epoch from greatest(blocked_until, at) - at),
                case when rate is not null
                     then (1 - burst) / rate + extract(epoch from greatest(tat, at) - at) end)::float8 as opens_in_seconds,
       penalties, penalised_at, penalty_reason,
       updated_at, c.failure_limit as circuit_failures, c.pause_seconds as circuit_seconds, c.failures,
       case when c.key is null then null when c.opened_at is null then 'closed'
            when coalesce(c.probe_until, c.opened_at + c.pause_seconds * interval '1 second') <= at then 'due'
            when c.probe_until is not null then 'probing' else 'open' end as circuit,
       s.store
from penstock.limits as l left join penstock.circuits as c on c.key = l.key
     cross join clock_timestamp() as at cross join penstock.limiter_store as s
where l.key > $1 and (rate is not null or blocked_until > '-infinity') order by l.key limit $2

-- name: remove
-- Neither limited nor blocked, and without a circuit. The row stays for a while: its number says to those who still
-- remember the limit or the block, and to Redis, that they are void. `forget_passed_blocks` takes it away.
with gone as (
    delete from penstock.circuits where key = $1
)
update penstock.limits set
    rate = null, burst = 1, tat = '-infinity', blocked_until = '-infinity', blocked_reason = null,
    penalties = 0, penalised_at = null, penalty_reason = null,
    since = nextval('penstock.limit_numbers'), updated_at = clock_timestamp()
where key = $1 and (rate is not null or blocked_until > '-infinity')
returning key

-- name: forget_passed_blocks
-- Keys that were never limited have a row only because somebody blocked them; one per host adds up. A key that was
-- removed was never blocked, so the removal counts.
delete from penstock.limits where key in (
    select key from penstock.limits
    where rate is null
      and coalesce(nullif(blocked_until, '-infinity'), updated_at) < now() - $1::float8 * interval '1 second'
    limit $2 for update skip locked)
returning key

-- name: forget_unused
-- Limits of keys that begin with $1 and that nobody took from or changed for $2 seconds: one per host adds up.
delete from penstock.limits where key in (
    select key from penstock.limits
    where starts_with(key, $1) and greatest(tat, blocked_until, updated_at) < now() - $2::float8 * interval '1 second'
    limit $3 for update skip locked)
returning key
