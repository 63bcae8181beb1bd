"""Circuits of limiter keys on real PostgreSQL: who may try, who may close, what costs a statement."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from penstock.errors import InvalidSetting, TransientError
from penstock.events import Event, Events
from penstock.limits.limiter import LimiterBusy, Limiters
from penstock.storage import circuits, limits

KEY = "wikidata"


@pytest.fixture
async def circuit(connection) -> None:
    await limits.configure(connection, KEY, rate=1000, burst=100)
    await circuits.configure(connection, KEY, 2, 30)


async def open_it(connection) -> None:
    for _ in range(2):
        await circuits.failed(connection, KEY, None)


async def let_pass(connection, seconds: float) -> None:
    await connection.execute(
        "update penstock.circuits set opened_at = opened_at - $1 * interval '1 second', "
        "probe_until = probe_until - $1 * interval '1 second'",
        seconds,
    )


@pytest.mark.usefixtures("circuit")
async def test_the_failure_that_opens_it_is_told_once(connection):
    first, second = [await circuits.failed(connection, KEY, None) for _ in range(2)]
    assert (first.open, first.opened) == (False, False)
    assert (second.open, second.opened) == (True, True)
    assert await circuits.failed(connection, KEY, None) is None, "calls from before do not make the pause longer"


@pytest.mark.usefixtures("circuit")
async def test_a_success_between_failures_begins_the_count_again(connection):
    await circuits.failed(connection, KEY, None)
    assert not await circuits.succeeded(connection, KEY, None)
    assert not (await circuits.failed(connection, KEY, None)).open


@pytest.mark.usefixtures("circuit")
async def test_one_of_many_gets_the_probe_and_only_after_the_pause(connection, database_url):
    await open_it(connection)
    assert await circuits.probe(connection, KEY) is None
    await let_pass(connection, 30)
    async with asyncpg.create_pool(database_url, min_size=0, max_size=8) as pool:
        tokens = await asyncio.gather(*(circuits.probe(pool, KEY) for _ in range(20)))
    assert len([token for token in tokens if token is not None]) == 1


@pytest.mark.usefixtures("circuit")
async def test_a_probe_that_is_slower_than_the_pause_is_waited_for_and_closes_the_circuit(connection):
    await open_it(connection)
    await let_pass(connection, 30)
    slow = await circuits.probe(connection, KEY)
    await let_pass(connection, 60)
    assert await circuits.probe(connection, KEY) is None, "there is one at a time"
    assert await circuits.succeeded(connection, KEY, slow)


@pytest.mark.parametrize(("pause", "patience"), [(0.1, 10), (1, 10), (30, 120), (200, 300), (1000, 1000)])
@pytest.mark.usefixtures("circuit")
async def test_a_probe_that_did_not_come_back_is_given_up_after_a_time_that_goes_by_the_pause(
    connection, pause, patience
):
    await circuits.configure(connection, KEY, 2, pause)
    await open_it(connection)
    await let_pass(connection, pause)
    before = await connection.fetchval("select clock_timestamp()")
    assert await circuits.probe(connection, KEY) is not None
    until, after = await connection.fetchrow("select probe_until, clock_timestamp() from penstock.circuits")
    assert before <= until - timedelta(seconds=patience) <= after
    if patience >= 120:
        await let_pass(connection, patience - 60)
        assert await circuits.probe(connection, KEY) is None
        await let_pass(connection, 60)
    else:
        await let_pass(connection, patience)
    assert await circuits.probe(connection, KEY) is not None


@pytest.mark.usefixtures("circuit")
async def test_a_probe_that_was_given_up_still_closes_the_circuit_and_a_call_from_before_does_not(connection):
    await open_it(connection)
    await let_pass(connection, 30)
    late = await circuits.probe(connection, KEY)
    await let_pass(connection, 120)
    newest = await circuits.probe(connection, KEY)
    assert None not in (late, newest)
    assert await circuits.failed(connection, KEY, late) is None, "the newest decides about another pause"
    assert not await circuits.succeeded(connection, KEY, None)
    assert await circuits.succeeded(connection, KEY, late)


@pytest.mark.usefixtures("circuit")
async def test_a_probe_of_an_earlier_opening_does_not_close_a_later_one(connection):
    await open_it(connection)
    await let_pass(connection, 30)
    early = await circuits.probe(connection, KEY)
    await let_pass(connection, 120)
    assert await circuits.succeeded(connection, KEY, await circuits.probe(connection, KEY))
    await open_it(connection)
    assert not await circuits.succeeded(connection, KEY, early)


@pytest.mark.usefixtures("circuit")
async def test_who_meets_a_probe_looks_again_after_a_pause_however_long_the_probe_may_take(connection):
    await open_it(connection)
    await let_pass(connection, 30)
    await circuits.probe(connection, KEY)
    [known] = await limits.known(connection, [KEY])
    assert known.probe_in_seconds == pytest.approx(30, abs=1)


@pytest.mark.usefixtures("circuit")
async def test_a_probe_that_failed_opens_it_for_another_pause(connection):
    await open_it(connection)
    await let_pass(connection, 30)
    token = await circuits.probe(connection, KEY)
    again = await circuits.failed(connection, KEY, token)
    assert (again.open, again.opened) == (True, False)
    assert await circuits.probe(connection, KEY) is None


@pytest.mark.usefixtures("circuit")
async def test_an_interrupted_probe_is_given_back_at_once(connection):
    await open_it(connection)
    await let_pass(connection, 30)
    await circuits.give_back(connection, KEY, await circuits.probe(connection, KEY))
    assert await circuits.probe(connection, KEY) is not None


@pytest.mark.usefixtures("circuit")
async def test_a_circuit_goes_with_its_limit(connection):
    await limits.remove(connection, KEY)
    assert not await circuits.remove(connection, KEY)


@pytest.mark.parametrize(("failures", "seconds"), [(0, 30), (True, 30), (2, 0), (2, float("inf")), (2, float("nan"))])
async def test_a_senseless_circuit_is_refused_with_its_value(connection, failures, seconds):
    await limits.configure(connection, KEY, rate=1)
    with pytest.raises(InvalidSetting, match="of limit 'wikidata' = "):
        await circuits.configure(connection, KEY, failures, seconds)


class CountedPool:
    """Counts statements about circuits."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self.lent = 0

    def acquire(self):
        self.lent += 1
        return self._pool.acquire()


@pytest.fixture
async def counted(database_url) -> AsyncIterator[CountedPool]:
    async with asyncpg.create_pool(database_url, min_size=0, max_size=4) as pool:
        yield CountedPool(pool)


@pytest.mark.usefixtures("circuit")
async def test_successes_while_nothing_fails_cost_no_statement(counted):
    limiter = Limiters(counted, Events()).of(KEY)
    async with limiter:
        before = counted.lent
    assert counted.lent == before


@pytest.mark.usefixtures("circuit")
async def test_an_interrupted_handler_that_was_the_probe_lets_the_next_one_try(connection, counted):
    events: list[Event] = []
    limiters = Limiters(counted, Events([events.append]))
    for _ in range(2):
        with pytest.raises(TransientError):
            async with limiters.of(KEY):
                raise TransientError("away")
    with pytest.raises(LimiterBusy) as raised:
        await limiters.of(KEY).acquire()
    assert raised.value.retry_after > 25
    await let_pass(connection, 30)
    limiters._budgets.known.forget()
    with pytest.raises(asyncio.CancelledError):
        async with limiters.of(KEY):
            raise asyncio.CancelledError
    async with limiters.of(KEY):
        pass
    assert [event.name for event in events] == ["limiter.opened", "limiter.closed"]


@pytest.mark.usefixtures("circuit")
async def test_a_handler_in_a_thread_tells_the_circuit_as_well(counted):
    events: list[Event] = []
    limiter = Limiters(counted, Events([events.append])).of(KEY)

    def handler() -> None:
        with limiter:
            raise TransientError("away")

    for _ in range(2):
        with pytest.raises(TransientError):
            await asyncio.to_thread(handler)
    assert [event.name for event in events] == ["limiter.opened"]


async def test_good_calls_that_are_slower_than_the_pause_close_the_circuit(connection, counted):
    await limits.configure(connection, KEY, rate=1000, burst=100)
    await circuits.configure(connection, KEY, 2, 0.1)
    closed, answered, tried = asyncio.Event(), False, 0

    def heard(event: Event) -> None:
        if event.name == "limiter.closed":
            closed.set()

    limiters = Limiters(counted, Events([heard]))
    for _ in range(2):
        with pytest.raises(TransientError):
            async with limiters.of(KEY):
                raise TransientError("away")

    async def call() -> None:
        nonlocal answered, tried
        while not closed.is_set():
            try:
                async with limiters.of(KEY):
                    tried += not answered
                    await asyncio.sleep(0.5)  # the other side is slow, and well
                    answered = True
            except LimiterBusy:
                await asyncio.sleep(0.01)

    await asyncio.wait_for(asyncio.gather(*(call() for _ in range(20))), 60)
    assert tried == 1
