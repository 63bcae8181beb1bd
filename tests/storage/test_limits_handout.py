"""``Limiter`` as handlers use it, on real PostgreSQL. Each ``Limiters`` with a pool of its own stands for a process."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from penstock.core.retry import ErrorClass, RetryPolicy, classify
from penstock.errors import InvalidSetting, ThrottledError, UsageError
from penstock.events import Event, Events
from penstock.limits import limiter as handing
from penstock.limits import permits
from penstock.limits.budgets import PostgresBudgets
from penstock.limits.limiter import Limiter, LimiterBusy, Limiters
from penstock.limits.permits import Permit
from penstock.storage import limits
from tests.acquiring import moments, soon
from tests.recorded_grants import RecordedGrants
from tests.unit.gcra import most_above_the_limit

KEY = "wikidata"


class Processes:
    """Makes limiters as separate processes would have them, and collects their events and what they were granted."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self._url = url
        self._stack = stack
        self.events: list[Event] = []
        self.granted = RecordedGrants()

    async def start(self, **options) -> Limiters:
        pool = await self._stack.enter_async_context(asyncpg.create_pool(self._url, min_size=0, max_size=4))
        budgets = PostgresBudgets(pool)
        self.granted.watch(budgets)
        return Limiters(pool, Events([self.events.append]), budgets=budgets, **options)

    async def limiter(self, **options) -> Limiter:
        return (await self.start(**options)).of(KEY)


@pytest.fixture
async def processes(database_url: str) -> AsyncIterator[Processes]:
    async with AsyncExitStack() as stack:
        yield Processes(database_url, stack)


async def test_a_key_nobody_configured_lets_everybody_through(processes):
    limiter = await processes.limiter()
    await soon(asyncio.gather(*(moments(limiter, 20) for _ in range(5))))


@pytest.mark.parametrize(("rate", "burst"), [(100, 1), (200, 5)])
async def test_several_processes_together_use_the_limit_and_no_more(processes, connection, monkeypatch, rate, burst):
    # However late a machine with other work wakes them: no permit becomes too old to be used.
    monkeypatch.setattr(permits, "_STALE_SECONDS", 3600.0)
    await limits.configure(connection, KEY, rate, burst)
    fleet = [await processes.limiter() for _ in range(3)]
    seen = await soon(asyncio.gather(*(moments(limiter, 30) for limiter in fleet for _ in range(4))))
    used = [moment for many in seen for moment in many]
    # Nothing that the store granted was left unused; that it is asked in time has a test in test_limits_permits.py.
    assert len(processes.granted.grants) == len(used) == 360
    assert most_above_the_limit(processes.granted.grants, rate, burst) <= 1e-3
    assert processes.granted.used_early(used) == []


async def test_a_bunch_is_handed_out_on_time_and_not_at_once(processes, connection):
    await limits.configure(connection, KEY, rate=50, burst=1)
    limiter = await processes.limiter()
    seen = await soon(asyncio.gather(*(moments(limiter, 1) for _ in range(12))))
    # No permit before its own moment, whatever came in one bunch.
    assert processes.granted.used_early([moment for (moment,) in seen]) == []
    assert processes.granted.seconds >= 11 / 50 - 1e-3


async def test_a_long_wait_sends_the_task_back_and_burns_no_attempt(processes, connection):
    await limits.configure(connection, KEY, rate=1 / 3600, burst=1)
    limiter = await processes.limiter()
    await limiter.acquire()
    with pytest.raises(LimiterBusy) as raised:
        await soon(limiter.acquire())
    assert 3500 < raised.value.retry_after <= 3600
    verdict = classify(raised.value, RetryPolicy())
    assert verdict.kind is ErrorClass.THROTTLED
    assert verdict.retry_after_seconds == raised.value.retry_after


async def test_tasks_that_are_sent_back_do_not_all_come_back_at_once(processes, connection):
    await limits.configure(connection, KEY, rate=1, burst=1)
    limiter = await processes.limiter()
    await limiter.acquire()
    waiting = [asyncio.create_task(limiter.acquire()) for _ in range(20)]
    ended = await soon(asyncio.gather(*waiting, return_exceptions=True))
    returns = sorted(error.retry_after for error in ended if error is not None)
    assert len(returns) >= 17
    assert returns[-1] - returns[0] > 0.8 * (len(returns) - 2)


async def test_while_the_answer_is_known_nobody_asks_the_database_again(processes, connection, monkeypatch):
    monkeypatch.setattr(permits, "_LOOK_AGAIN_SECONDS", 3600.0)
    await limits.configure(connection, KEY, rate=1 / 3600, burst=1)
    limiter = await processes.limiter()
    await limiter.acquire()
    with pytest.raises(LimiterBusy):
        await soon(limiter.acquire())
    asked = processes.granted.questions
    with pytest.raises(LimiterBusy):
        await soon(limiter.acquire())
    assert processes.granted.questions == asked == 2


async def test_a_short_wait_is_waited_for(processes, connection):
    await limits.configure(connection, KEY, rate=4, burst=1)
    limiter = await processes.limiter()
    used = await soon(moments(limiter, 2))
    assert processes.granted.seconds >= 0.25 - 1e-3
    assert processes.granted.used_early(used) == []


async def test_a_faster_rate_is_noticed_by_those_who_wait(processes, connection):
    await limits.configure(connection, KEY, rate=1 / 3600, burst=1)
    limiter = await processes.limiter(hold_seconds=7200)
    await limiter.acquire()
    waiting = asyncio.create_task(limiter.acquire())
    await soon(processes.granted.answered(2))
    await limits.configure(connection, KEY, rate=100, burst=1)
    await soon(waiting)


async def test_a_block_holds_for_every_process_until_its_very_end(processes, connection):
    await limits.configure(connection, KEY, rate=1000, burst=50)
    one, other = await processes.limiter(), await processes.limiter()
    await asyncio.gather(one.acquire(), other.acquire())
    ends = time.monotonic() + 0.6
    await one.penalise(0.6, "429")
    seen = await soon(asyncio.gather(*(moments(limiter, 1) for limiter in (one, other) for _ in range(10))))
    assert [moment for (moment,) in seen if moment < ends - 0.02] == []


async def test_no_burst_follows_a_block(processes, connection):
    await limits.configure(connection, KEY, rate=20, burst=20)
    limiter = await processes.limiter()
    ends = datetime.now(UTC) + timedelta(seconds=0.2)
    await limiter.penalise(0.2, "429")
    seen = await soon(asyncio.gather(*(moments(limiter, 1) for _ in range(10))))
    assert processes.granted.above_the_rate(ends, 20) == []
    assert processes.granted.used_early([moment for (moment,) in seen]) == []


class Asleep:
    """Everybody who has a permit and waits for its moment, until the test lets that moment come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.over = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(Permit, "ready", lambda permit: self._wait())

    async def _wait(self) -> None:
        self.begun.set()
        await self.over.wait()


@pytest.mark.parametrize("by", ["one", "other"])
async def test_permits_leased_before_a_block_are_dropped(processes, connection, monkeypatch, by):
    """A heavy request has reserved ahead and sleeps; meanwhile the key is blocked, by this process or another."""
    monkeypatch.setattr(permits, "_STALE_SECONDS", 3600.0)
    # A block of its own holds for a permit that has just come, too; one of another process is asked for.
    monkeypatch.setattr(handing, "_FRESH_SECONDS", {"one": 3600.0, "other": 0.0}[by])
    await limits.configure(connection, KEY, rate=10, burst=10)
    one, other = await processes.limiter(), await processes.limiter()
    await one.acquire(10)
    asleep = Asleep(monkeypatch)
    heavy = asyncio.create_task(one.acquire(10))
    await soon(asleep.begun.wait())
    await {"one": one, "other": other}[by].penalise(3000, "429")
    asleep.over.set()
    with pytest.raises(LimiterBusy):
        await soon(heavy)


async def test_many_answers_of_one_block_are_one_event(processes, connection):
    limiter = await processes.limiter()
    for _ in range(5):
        await limiter.penalise(3000, "429")
    (event,) = processes.events
    assert (event.name, event.data["key"], event.data["reason"]) == ("limiter.blocked", KEY, "429")


async def test_an_error_that_asks_to_slow_down_inside_the_block_slows_everybody(processes, connection):
    one, other = await processes.limiter(), await processes.limiter()
    with pytest.raises(ThrottledError):
        async with one:
            raise ThrottledError("429", retry_after=3000)
    with pytest.raises(LimiterBusy) as raised:
        await soon(other.acquire())
    assert 2900 < raised.value.retry_after <= 3000


class HttpError(Exception):
    status = 503
    headers = {"Retry-After": "30"}  # noqa: RUF012


async def test_an_http_error_inside_the_block_is_read_for_its_wait(processes):
    limiter = await processes.limiter()
    with pytest.raises(HttpError):
        async with limiter:
            raise HttpError
    with pytest.raises(LimiterBusy):
        await soon(limiter.acquire())


@pytest.mark.parametrize(
    "error", [ValueError("x"), ThrottledError(key="other", retry_after=30), LimiterBusy("other", 9)]
)
async def test_an_error_about_something_else_blocks_nothing(processes, error):
    limiter = await processes.limiter()
    with pytest.raises(type(error)):
        async with limiter:
            raise error
    await soon(limiter.acquire())


async def test_an_error_with_a_key_blocks_that_key_wherever_it_was_raised(processes):
    limiters = await processes.start()
    await limiters.penalise_for(ThrottledError(retry_after=30, key=KEY))
    with pytest.raises(LimiterBusy):
        await soon(limiters.of(KEY).acquire())
    await soon(limiters.of("other").acquire())


@pytest.mark.parametrize(("key", "retry_after"), [("", 1.0), (KEY, float("nan")), (KEY, "soon")])
async def test_an_error_with_a_senseless_key_or_wait_is_not_replaced_by_another(processes, key, retry_after):
    limiters = await processes.start()
    error = ThrottledError(retry_after=retry_after, key=key)
    await limiters.penalise_for(error)
    assert error.__notes__
    assert processes.events == []


async def test_what_answers_say_is_learned(processes):
    limiter = await processes.limiter()
    assert await limiter.learn({"Content-Type": "text/html"}, 200) is None
    await soon(limiter.acquire())
    assert await limiter.learn({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}, 200) == 30
    with pytest.raises(LimiterBusy):
        await soon(limiter.acquire())


class FailingPool:
    """A database that is away for the first few questions."""

    def __init__(self, pool: asyncpg.Pool, failures: int) -> None:
        self._pool = pool
        self.failures = failures

    @asynccontextmanager
    async def acquire(self):
        if self.failures > 0:
            self.failures -= 1
            raise ConnectionRefusedError("away")
        async with self._pool.acquire() as connection:
            yield connection


async def test_without_the_database_nobody_goes_and_everybody_goes_on_when_it_is_back(database_url):
    async with asyncpg.create_pool(database_url, min_size=0, max_size=2) as pool:
        away = FailingPool(pool, failures=3)
        await soon(Limiters(away, Events()).of(KEY).acquire())
        assert away.failures == 0
        away.failures = 10**9
        waiting = asyncio.create_task(Limiters(away, Events()).of(KEY).acquire())
        async with asyncio.timeout(60):
            while away.failures > 10**9 - 5:
                await asyncio.sleep(0.01)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


class DeafPool:
    """A database that answers questions but cannot store a block."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self.deaf = True

    @asynccontextmanager
    async def acquire(self):
        async with self._pool.acquire() as connection:
            self._connection = connection
            yield self

    async def fetch(self, query, *args):
        return await self._connection.fetch(query, *args)

    async def fetchrow(self, query, *args):
        if self.deaf and "insert into" in query:
            raise asyncpg.ReadOnlySQLTransactionError("a standby")
        return await self._connection.fetchrow(query, *args)


async def test_a_block_that_the_database_could_not_take_holds_here_and_is_stored_later(database_url):
    async with asyncpg.create_pool(database_url, min_size=0, max_size=2) as pool:
        away = DeafPool(pool)
        limiter = Limiters(away, Events()).of(KEY)
        blocking = asyncio.create_task(limiter.penalise(3000, "429"))
        await asyncio.sleep(0)
        with pytest.raises(LimiterBusy):
            await soon(limiter.acquire())
        assert not blocking.done()
        away.deaf = False
        await soon(blocking)
        async with pool.acquire() as connection:
            assert (await limits.listing(connection))[0].blocked_seconds > 2900


async def test_somebody_who_gives_up_waiting_holds_up_nobody(processes, connection):
    await limits.configure(connection, KEY, rate=1 / 3600, burst=1)
    limiter = await processes.limiter(hold_seconds=7200)
    await limiter.acquire()
    leaving = asyncio.create_task(limiter.acquire())
    await soon(processes.granted.answered(2))
    leaving.cancel()
    next_one = asyncio.create_task(limiter.acquire())
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await limits.configure(connection, KEY, rate=100, burst=1)
    await soon(next_one)


async def test_a_heavy_request_gets_its_permits_while_small_ones_keep_coming(processes, connection):
    await limits.configure(connection, KEY, rate=100, burst=20)
    small, heavy = await processes.limiter(), await processes.limiter()
    greedy = [asyncio.create_task(moments(small, 10**6)) for _ in range(4)]
    await soon(heavy.acquire(20))
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (0, "= 0 will not do"),
        (-1, "= -1 will not do"),
        (1.5, "whole number"),
        (True, "whole number"),
        (4, "burst is 3"),
    ],
)
async def test_a_wrong_weight_is_refused_with_its_value(processes, connection, weight, sentence):
    await limits.configure(connection, KEY, rate=1, burst=3)
    limiter = await processes.limiter()
    with pytest.raises(InvalidSetting, match=sentence):
        await soon(limiter.acquire(weight))
    await soon(limiter.acquire(3))


async def test_an_empty_key_is_refused(processes):
    with pytest.raises(InvalidSetting, match="limiter key = '' will not do"):
        (await processes.start()).of("")


async def test_a_handler_in_a_thread_uses_the_limiter_with_a_plain_with(processes, connection):
    await limits.configure(connection, KEY, rate=1000, burst=2)
    limiter = await processes.limiter()

    def handler() -> None:
        with limiter:
            raise ThrottledError(retry_after=30)

    with pytest.raises(ThrottledError):
        await asyncio.to_thread(handler)
    with pytest.raises(LimiterBusy):
        await soon(limiter.acquire())
    with pytest.raises(UsageError, match="async with"), limiter:
        pass
