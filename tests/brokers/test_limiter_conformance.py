"""One suite for both stores of the limiter, PostgreSQL and Redis, on real servers."""

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from penstock.errors import InvalidSetting, ThrottledError, TransientError
from penstock.limits import permits
from penstock.limits.budgets import OLDEST_SECONDS
from penstock.limits.limiter import Limiter, LimiterBusy
from penstock.storage import circuits, limits
from tests.acquiring import moments, soon
from tests.brokers.limiter_world import KEY, World, take, until, world_of
from tests.unit.gcra import SECOND, Gcra, most_above_the_limit

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["postgres", "redis"])
async def world(request, database_url, connection, redis_url) -> AsyncIterator[World]:
    async with world_of(request.param, database_url, connection, redis_url) as made:
        yield made


async def test_a_full_budget_gives_its_burst_and_says_when_the_next_is_free(world):
    await world.configure(rate=0.005, burst=3)
    budgets = await world.budgets()
    grant = await take(budgets, [1] * 5)
    assert (grant.granted, grant.delays_seconds) == (3, (0, 0, 0))
    assert grant.wait_seconds == pytest.approx(200)
    assert (grant.rate, grant.burst) == (0.005, 3)
    await world.let_pass(200)
    assert (await take(budgets, [1, 1])).granted == 1


async def test_permits_reserved_ahead_carry_their_own_moment(world):
    await world.configure(rate=10, burst=1)
    grant = await take(await world.budgets(), [1] * 9, ahead_seconds=0.25)
    assert grant.delays_seconds == pytest.approx((0, 0.1, 0.2))
    assert grant.wait_seconds == pytest.approx(0.3)


@pytest.mark.parametrize("ahead_seconds", [0.0, 300.0])
async def test_a_heavy_request_is_not_starved_by_small_ones(world, ahead_seconds):
    await world.configure(rate=0.01, burst=5)
    budgets = await world.budgets()
    small = await take(budgets, [1] * 20, ahead_seconds=ahead_seconds)
    assert small.granted < 20, "they reserved all they could"
    grant = await take(budgets, [5], ahead_seconds=ahead_seconds, heavy_ahead_seconds=2000.0)
    assert grant.granted == 1
    assert grant.delays_seconds[0] == pytest.approx(ahead_seconds + 500, abs=150)
    again = await take(budgets, [5], heavy_ahead_seconds=200.0)
    assert again.granted == 0


async def test_a_weight_above_the_burst_is_never_granted_and_holds_up_those_behind(world):
    await world.configure(rate=1, burst=2)
    grant = await take(await world.budgets(), [1, 3, 1])
    assert (grant.granted, grant.burst) == (1, 2)
    limiter = (await world.limiters()).of(KEY)
    with pytest.raises(InvalidSetting, match="burst is 2"):
        await soon(limiter.acquire(3))


async def test_an_unknown_key_is_not_limited_but_can_be_blocked(world):
    budgets, other = await world.budgets(), await world.budgets()
    assert (await take(budgets, [1, 5, 1])).granted == 3
    block = await other.penalise(KEY, 5000, "429")
    assert block.seconds_left == pytest.approx(5000, abs=90)
    grant = await take(budgets, [1])
    assert (grant.granted, grant.rate) == (0, None)
    assert 4900 < grant.wait_seconds <= 5000
    await world.let_pass(5000)
    assert (await take(budgets, [1])).granted == 1


async def test_after_a_block_there_is_one_permit_and_then_the_rate(world):
    await world.configure(rate=0.01, burst=10)
    budgets = await world.budgets()
    await budgets.penalise(KEY, 6000, "429")
    assert (await take(budgets, [1])).granted == 0
    await world.let_pass(6000)
    assert (await take(budgets, [1] * 10)).granted == 1
    await world.let_pass(300)
    assert (await take(budgets, [1] * 10)).granted == 3


async def test_the_longer_block_stays(world):
    await world.configure(rate=100, burst=10)
    budgets = await world.budgets()
    await budgets.penalise(KEY, 6000, "long")
    assert (await budgets.penalise(KEY, 1, "short")).seconds_left > 5900
    assert (await take(budgets, [1])).wait_seconds > 5900


async def test_a_block_made_by_hand_reaches_every_process_within_a_second(world):
    await world.configure(rate=1000, burst=100)
    budgets = await world.budgets()
    reach = {"ahead_seconds": 0.0, "heavy_ahead_seconds": 0.0}
    assert (await budgets.take(KEY, [1], **reach)).granted == 1
    await limits.penalise(world.connection, KEY, 3000, "by hand")

    async def held_up() -> bool:
        return not (await budgets.take(KEY, [1], **reach)).granted

    await until(held_up)
    assert OLDEST_SECONDS <= 1, "what a process knows is never older than this"


async def test_a_slower_rate_does_not_forgive_what_was_taken(world):
    await world.configure(rate=0.1, burst=100)
    budgets = await world.budgets()
    assert (await take(budgets, [60])).granted == 1
    await world.configure(rate=0.001, burst=100)
    assert (await take(budgets, [44])).granted == 0
    assert (await take(budgets, [40])).granted == 1


async def test_a_faster_rate_takes_effect_at_once(world):
    await world.configure(rate=1 / 3600, burst=1)
    budgets = await world.budgets()
    await take(budgets, [1])
    await world.configure(rate=100, burst=1)
    assert (await take(budgets, [1], ahead_seconds=0.02)).granted == 1


async def test_a_process_that_still_knows_the_old_limit_does_not_bring_it_back(world):
    await world.configure(rate=1, burst=100)
    old, new = await world.budgets(), await world.budgets()
    reach = {"ahead_seconds": 0.0, "heavy_ahead_seconds": 0.0}
    assert (await old.take(KEY, [60], **reach)).granted == 1
    await world.configure(rate=1, burst=10)
    assert (await take(new, [1])).granted == 0
    grant = await old.take(KEY, [1] * 50, **reach)
    assert (grant.granted, grant.burst) == (0, 10)


async def test_a_limit_that_was_removed_holds_nobody_up(world):
    await world.configure(rate=0.1, burst=1)
    budgets = await world.budgets()
    await take(budgets, [1])
    await limits.remove(world.connection, KEY)
    assert (await take(budgets, [1] * 9)).granted == 9


DAY = 86_400
NOW = datetime.now(UTC)


def in_seconds(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "status", "blocked"),
    [
        ({"Retry-After": "30"}, 429, 30),
        ({"Date": in_seconds(0), "Retry-After": in_seconds(40)}, 503, 40),
        ({"Retry-After": "-5"}, 429, 1),
        ({"Retry-After": "1000000000000"}, 429, DAY),
        ({"Retry-After": "soon"}, 429, 1),
        ({"Date": in_seconds(0), "Retry-After": in_seconds(-3600)}, 503, 0),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "20"}, 200, 20),
        ({"X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "20"}, 200, 0),
        ({}, 429, 1),
    ],
)
async def test_what_an_answer_asks_for_holds_in_every_process(world, headers, status, blocked):
    await world.configure(rate=1000, burst=5)
    one, other = await world.limiters(), await world.budgets()
    asked_at = time.monotonic()
    await one.of(KEY).learn(headers, status)
    grant = await take(other, [1])
    left = blocked - (time.monotonic() - asked_at)
    # The dates have whole seconds.
    assert left - 1.1 <= (grant.wait_seconds or 0) <= blocked + 1.1
    if blocked == 0 or left > 0:
        assert (grant.granted == 0) == (blocked > 0)
    told = [event.data["seconds"] for event in world.events if event.name == "limiter.blocked"]
    assert len(told) == bool(blocked) or left < blocked / 2, "a block that is nearly over when it is stored is no news"
    slack = 1.1 if blocked > 1 else 0.05
    assert all(left - slack <= seconds <= blocked + slack for seconds in told)


async def test_several_processes_together_use_the_limit_and_no_more(world, monkeypatch):
    # However late a machine with other work wakes them: no permit becomes too old to be used.
    monkeypatch.setattr(permits, "_STALE_SECONDS", 3600.0)
    await world.configure(rate=100, burst=5)
    fleet = [(await world.limiters()).of(KEY) for _ in range(3)]
    seen = await soon(asyncio.gather(*(moments(limiter, 25) for limiter in fleet for _ in range(4))))
    used = [moment for many in seen for moment in many]
    # Nothing that the store granted was left unused; that it is asked in time has a test in test_limits_permits.py.
    assert len(world.granted.grants) == len(used) == 300
    assert most_above_the_limit(world.granted.grants, 100, 5) <= 1e-3
    assert world.granted.used_early(used) == []


async def test_a_block_stops_all_processes_until_its_end_and_no_burst_follows(world):
    await world.configure(rate=50, burst=20)
    one, other = (await world.limiters()).of(KEY), (await world.limiters()).of(KEY)
    await soon(asyncio.gather(one.acquire(), other.acquire()))
    ends, ends_at = time.monotonic() + 0.6, datetime.now(UTC) + timedelta(seconds=0.6)
    with pytest.raises(ThrottledError):
        async with one:
            raise ThrottledError("429", retry_after=0.6)
    world.granted.grants.clear()
    seen = await soon(asyncio.gather(*(moments(limiter, 1) for limiter in (one, other) for _ in range(10))))
    assert [moment for (moment,) in seen if moment < ends - 0.05] == []
    assert world.granted.above_the_rate(ends_at, 50) == []


async def test_waiting_tasks_are_sent_back_one_after_the_other(world):
    await world.configure(rate=1, burst=1)
    limiter = (await world.limiters()).of(KEY)
    await limiter.acquire()
    ended = await soon(asyncio.gather(*(limiter.acquire() for _ in range(20)), return_exceptions=True))
    returns = sorted(error.retry_after for error in ended if isinstance(error, LimiterBusy))
    assert len(returns) >= 17
    assert returns[-1] - returns[0] > 0.8 * (len(returns) - 2)


EPOCH = datetime.fromisoformat("2020-01-01T00:00:00+00:00")


@pytest.mark.parametrize(("rate", "burst"), [(0.7, 3), (3, 1), (40.0, 5), (1000, 4)])
async def test_the_store_agrees_with_the_model_to_the_microsecond(world, rate, burst):
    chance = random.Random(f"{rate} {burst}")
    await world.configure(rate, burst)
    budgets = await world.budgets()
    model, shifted = Gcra(rate, burst), 0
    for _ in range(40):
        passed = chance.choice([0, 0, 1, 400_000, 2 * SECOND])
        shifted += passed
        await world.let_pass(passed / SECOND)
        weights = [chance.randint(1, 5) for _ in range(chance.randint(1, 6))]
        ahead = chance.choice([0, 30_000, SECOND])
        grant = await take(budgets, weights, ahead_seconds=ahead / SECOND)
        at = (grant.at - EPOCH) // timedelta(microseconds=1) + shifted
        ready, wait = model.take(at, weights, ahead)
        assert [round(delay * SECOND) for delay in grant.delays_seconds] == ready
        if wait is not None:
            assert round(grant.wait_seconds * SECOND) == wait
    assert most_above_the_limit(model.grants, rate, burst) <= 1e-3


HAMMER = """
import asyncio, json, sys
from datetime import UTC, datetime, timedelta
import asyncpg
from penstock.limits.budgets import PostgresBudgets
from penstock.events import Events
from penstock.brokers.redis.budgets import RedisBudgets
from tests.brokers.limiter_world import KEY

async def main(store, database_url, redis_url, prefix, burst, seconds):
    pool = await asyncpg.create_pool(database_url, min_size=1, max_size=2)
    redis = RedisBudgets(pool, redis_url, prefix=prefix, events=Events())
    budgets = PostgresBudgets(pool) if store == "postgres" else redis
    end, got, waits, number = asyncio.get_running_loop().time() + float(seconds), [], [], 0
    while asyncio.get_running_loop().time() < end:
        weights, number = [1 + number % int(burst), 1], number + 1
        grant = await budgets.take(KEY, weights, ahead_seconds=0.03, heavy_ahead_seconds=0.0)
        at = (grant.at - datetime(2020, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        got += [(at + round(delay * 1e6), weight) for delay, weight in zip(grant.delays_seconds, weights)]
        if grant.wait_seconds is not None:
            waits.append((weights[grant.granted], grant.wait_seconds))
    print(json.dumps([got, waits]))
    await redis.close()
    await pool.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(("rate", "burst"), [(150.0, 1), (300.0, 7)])
async def test_four_processes_that_hammer_one_key_stay_within_the_limit_in_every_window(world, rate, burst):
    await world.configure(rate, burst)
    arguments = [world.store, world.database_url, world.redis_url, world.prefix, str(burst), "1.5"]
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", HAMMER, *arguments, stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        for _ in range(4)
    ]
    answers = [json.loads(out) for out, _ in await asyncio.gather(*(one.communicate() for one in processes))]
    grants = [(at, weight) for got, _ in answers for at, weight in got]
    assert most_above_the_limit(grants, rate, burst) <= 1e-3
    # The limit has to be used as well: whoever is refused waits for its own permits, behind what others may reserve.
    waits = [(weight, wait) for _, refused in answers for weight, wait in refused]
    assert waits
    assert [(weight, wait) for weight, wait in waits if wait > 0.03 + weight / rate + 1e-3] == []


async def is_refused(limiter: Limiter) -> bool:
    try:
        await limiter.acquire()
    except LimiterBusy:
        return True
    return False


async def failing(limiter: Limiter, error: Exception) -> None:
    with pytest.raises(type(error)):
        async with limiter:
            raise error


async def test_a_circuit_opens_for_the_fleet_and_exactly_one_probe_goes_through(world):
    await world.configure(rate=1000, burst=100)
    await circuits.configure(world.connection, KEY, 3, 3600.0)
    fleet = [(await world.limiters()).of(KEY) for _ in range(4)]
    await soon(asyncio.gather(*(limiter.acquire() for limiter in fleet)))
    for _ in range(3):
        await failing(fleet[0], TransientError("503"))
    for limiter in fleet:
        await until(lambda limiter=limiter: is_refused(limiter))
    through: list[Limiter] = []
    refusals = 0
    done = asyncio.Event()

    async def keep_trying(limiter: Limiter) -> None:
        nonlocal refusals
        while not done.is_set():
            try:
                async with limiter:
                    through.append(limiter)
                    await done.wait()
            except LimiterBusy:
                refusals += 1
                await asyncio.sleep(0.01)

    async def refused_again(times: int) -> None:
        enough = refusals + times
        await until(lambda: asyncio.sleep(0, refusals >= enough))

    trying = [asyncio.create_task(keep_trying(limiter)) for limiter in fleet for _ in range(3)]
    await refused_again(200)
    assert through == []
    await world.connection.execute("update penstock.circuits set opened_at = opened_at - interval '3600 s'")
    await until(lambda: asyncio.sleep(0, bool(through)))
    await refused_again(200)  # others go on trying, within the pause of the probe
    assert len(through) == 1
    done.set()
    await soon(asyncio.gather(*trying))
    for limiter in fleet:
        await until(lambda limiter=limiter: goes(limiter))
    assert [event.name for event in world.events] == ["limiter.opened", "limiter.closed"]


async def goes(limiter: Limiter) -> bool:
    return not await is_refused(limiter)
