"""`penstock.testing` as its users meet it: an application of their own, fixtures, and faults on demand."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest

from penstock import Context, Penstock, PermanentError, Snooze, State, TransientError
from penstock.errors import DatabaseUnavailable, UsageError
from penstock.testing import Proxy, WorkerTree, assert_enqueued, assert_not_enqueued, drain, inline

CRASH_APP = "tests.crash.crash_app:app"


class Shop:
    """A small application with most kinds of tasks."""

    def __init__(self) -> None:
        self.app = app = Penstock("shop")
        self.sent: list[str] = []

        @app.task()
        async def send(to: str, copies: int = 1) -> str:
            self.sent.append(to)
            return f"sent to {to}"

        @app.task()
        async def welcome(ctx: Context, name: str) -> None:
            await send.options(delay=3600).enqueue(to=name)

        @app.task()
        def moody(ctx: Context) -> int:
            if ctx.attempt < 3:
                raise TransientError("not now")
            return ctx.attempt

        @app.task(isolated=True)
        def apart(n: int) -> int:
            return n + 1

        @app.task()
        async def broken() -> None:
            raise PermanentError("never")

        @app.task()
        async def again() -> Snooze:
            return Snooze(5)

        @app.task()
        async def stored(ctx: Context) -> None:
            async with ctx.transaction() as transaction:
                transaction.result = "with its transaction"

        steps = app.pipeline("steps")

        @steps.stage()
        async def first(n: int) -> int:
            return n * 2

        @steps.stage()
        async def second(n: int) -> int:
            return n + 1

        self.send, self.welcome, self.moody, self.broken, self.again = send, welcome, moody, broken, again
        self.apart, self.stored, self.steps = apart, stored, steps


@pytest.fixture
async def shop(penstock_database: str) -> AsyncIterator[Shop]:
    made = Shop()
    async with made.app:
        yield made


async def test_drain_runs_what_is_due_and_leaves_what_is_not(shop: Shop) -> None:
    task = await shop.send.enqueue(to="ada")
    await shop.send.options(delay=60).enqueue(to="bob")
    drained = await drain(shop.app)
    assert shop.sent == ["ada"]
    assert (drained.runs, drained.done, drained.waiting) == (1, 1, 1)
    assert await task.result(1) == "sent to ada"


async def test_drain_with_advance_does_not_wait_for_tomorrow(shop: Shop) -> None:
    await shop.welcome.enqueue("ada")
    await shop.send.options(delay=86_400).enqueue(to="bob")
    moody = await shop.moody.enqueue()
    drained = await drain(shop.app, advance=True)
    assert shop.sent == ["ada", "bob"], "in the order they would have run"
    assert await moody.result(1) == 3
    assert (drained.released, drained.waiting) == (2, 0)


async def test_drain_serves_stages_threads_isolated_tasks_and_transactions(shop: Shop) -> None:
    steps, apart, stored = await shop.steps.enqueue(20), await shop.apart.enqueue(1), await shop.stored.enqueue()
    drained = await drain(shop.app)
    assert await steps.result(1) == 41
    assert await apart.result(1) == 2
    assert await stored.result(1) == "with its transaction"
    assert drained.runs == 4
    assert drained.done == 3


async def test_drain_counts_failures_and_leaves_no_worker_behind(shop: Shop) -> None:
    await shop.broken.enqueue()
    assert (await drain(shop.app)).failed == 1
    async with shop.app.connection() as connection:
        assert await connection.fetchval("select bool_and(stopped_at is not null) from penstock.workers")


async def test_drain_ends_a_task_that_never_does(shop: Shop) -> None:
    await shop.again.enqueue()
    with pytest.raises(UsageError, match="drain\\(\\) has run 25 tasks and more are due"):
        await drain(shop.app, advance=True, most_runs=25)
    async with shop.app.connection() as connection:
        assert await connection.fetchval("select count(*) from penstock.queue where worker is not null") == 0


async def test_inline_enqueue_returns_when_the_task_has_ended(shop: Shop) -> None:
    async with inline(shop.app):
        task = await shop.welcome.enqueue("ada")
        assert await task.state() is State.DONE
        assert shop.sent == ["ada"]
        job = await shop.send.enqueue_many([{"to": "bob"}, {"to": "eve"}])
        assert (await job.counts()).done == 2
    await shop.send.enqueue(to="later")
    assert shop.sent == ["ada", "bob", "eve"]


async def test_assert_enqueued_finds_by_some_of_the_arguments(shop: Shop) -> None:
    await shop.send.enqueue(to="ada", copies=2)
    found = await assert_enqueued(shop.app, shop.send, to="ada")
    await assert_enqueued(shop.app, "send", copies=2)
    await assert_not_enqueued(shop.app, shop.send, to="bob")
    await drain(shop.app)
    assert (await assert_enqueued(shop.app, shop.send)).id == found.id


async def test_assert_enqueued_says_what_was_enqueued_instead(shop: Shop) -> None:
    with pytest.raises(AssertionError, match=r"No send was enqueued with to='bob'\. Nothing was enqueued at all\."):
        await assert_enqueued(shop.app, shop.send, to="bob")
    await shop.send.enqueue(to="ada")
    with pytest.raises(AssertionError, match=r"Enqueued were:\n  send\(to='ada'\) → PENDING"):
        await assert_enqueued(shop.app, shop.send, to="bob")
    with pytest.raises(AssertionError, match="1 × send enqueued with to='ada'"):
        await assert_not_enqueued(shop.app, shop.send, to="ada")
    with pytest.raises(UsageError, match="send has no argument 'too'"):
        await assert_not_enqueued(shop.app, shop.send, too="ada")


async def test_a_link_can_be_slow_cut_silent_and_refused(penstock_proxy: Proxy) -> None:
    import asyncpg

    connection = await asyncpg.connect(penstock_proxy.url)
    penstock_proxy.delay(0.2)
    began = time.monotonic()
    assert await connection.fetchval("select 1") == 1
    assert time.monotonic() - began > 0.2
    penstock_proxy.restore()
    penstock_proxy.blackhole()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(connection.fetchval("select 2"), 0.3)
    penstock_proxy.restore()
    assert penstock_proxy.cut() >= 1
    with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError)):
        await connection.fetchval("select 3")
    penstock_proxy.refuse()
    with pytest.raises((asyncpg.PostgresConnectionError, OSError)):
        await asyncpg.connect(penstock_proxy.url, timeout=2)
    penstock_proxy.restore()
    again = await asyncpg.connect(penstock_proxy.url)
    assert await again.fetchval("select 4") == 4
    await again.close()


async def test_enqueue_through_a_refused_link_says_so(penstock_proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_DATABASE_URL", penstock_proxy.url)
    shop = Shop()
    penstock_proxy.refuse()
    with pytest.raises(DatabaseUnavailable, match="cannot be reached"):
        await shop.send.enqueue(to="ada")


async def test_a_worker_of_the_fixture_is_started_killed_and_thawed(
    penstock_workers: Callable[..., WorkerTree], penstock_database: str
) -> None:
    tree = penstock_workers("penstock.testing.storm_app:app", lease_seconds=2, heartbeat_seconds=0.5)
    (runner,) = tree.runners()
    tree.freeze()
    assert runner.status() == "stopped"
    tree.thaw()
    tree.kill_runner()
    tree.wait_ready(starts=2)
    tree.terminate()
    assert tree.wait_ended(60) == 0
