"""One application object at module level, used in one event loop after the other."""

import asyncio
import gc
import warnings
from collections.abc import Coroutine, Iterator
from typing import Any

import asyncpg
import pytest

from penstock import Context, Penstock, worker
from penstock.config import load
from penstock.errors import UsageError
from penstock.events import Events
from penstock.testing import drain
from penstock.testing.proxy import Proxy
from penstock.workers.inprocess import InProcessWorker


class Shop:
    """An application as a module would hold it: opened by no fixture, in whichever loop runs."""

    def __init__(self, url: str) -> None:
        settings = load(
            database_url=url,
            heartbeat_seconds=0.1,
            lease_seconds=1.0,
            poll_max_seconds=0.2,
            grace_seconds=1.0,
            health_seconds=3600,
        )
        self.url = url
        self.app = Penstock("shop", settings=settings, events=Events())
        self.called_back: asyncio.Future[int]
        self.begun: asyncio.Future[None]
        self.runs = 0

        @self.app.task(pool=20)
        async def price(ctx: Context, sku: str) -> int:
            async with ctx.limiter("supplier"):
                return len(sku)

        @self.app.task()
        async def total(counts: dict[str, int]) -> int:
            self.called_back.set_result(counts["done"])
            return counts["done"]

        @self.app.task()
        async def stuck() -> int:
            self.runs += 1
            if self.runs == 1:
                self.begun.set_result(None)
                await asyncio.Event().wait()
            return self.runs

        self.price, self.total, self.stuck = price, total, stuck

    async def use(self) -> None:
        """Enqueue, results, limiter, drain, a worker, a job and its callback; side by side, so that locks are waited
        for: a lock of asyncio belongs to a loop from then on."""
        self.called_back = asyncio.get_running_loop().create_future()
        many = await asyncio.gather(*(self.price.enqueue("A-1") for _ in range(8)))
        assert (await drain(self.app)).done == 8
        assert await asyncio.gather(*(task.result(60) for task in many)) == [3] * 8
        assert self.price.enqueue_sync("A-1").created
        async with worker(self.app):
            many = await asyncio.gather(*(self.price.enqueue("A-12") for _ in range(8)))
            assert await asyncio.gather(*(task.result(60) for task in many)) == [4] * 8
            job = await self.price.enqueue_many([{"sku": "A-1"}] * 3, then=self.total)
            assert (await job.wait(60)).done == 3
            assert await asyncio.wait_for(self.called_back, 60) == 3


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    made = Shop(database_url)
    yield made
    asyncio.run(made.app.close())


@pytest.fixture
def unclosed() -> Iterator[None]:
    """Connections and coroutines of a loop that is gone can only be collected, and warn then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        gc.collect()


def run_and_close(work: Coroutine[Any, Any, None]) -> None:
    """Unlike ``asyncio.run``: whatever else runs in the loop stays where it is."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


async def opened_and_used(shop: Shop) -> None:
    async with shop.app:
        await shop.use()


def test_an_application_that_was_closed_works_in_the_next_event_loop(shop):
    async def opened() -> None:
        async with shop.app:
            await shop.price.enqueue("A-1")
            await drain(shop.app)

    asyncio.run(opened_and_used(shop))
    asyncio.run(opened())
    asyncio.run(opened_and_used(shop))


@pytest.mark.usefixtures("unclosed")
def test_an_application_that_nobody_closed_works_in_the_next_event_loop(shop):
    async def fail() -> None:
        await shop.use()
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(fail())
    asyncio.run(shop.use())


@pytest.mark.usefixtures("unclosed")
def test_an_application_of_a_loop_that_ended_in_the_middle_works_in_the_next_one(shop):
    """Nothing was cancelled there: a task of the application waits for ever, and somebody waits for a result."""

    async def begin() -> None:
        await asyncio.gather(*(shop.price.enqueue("A-1") for _ in range(8)))
        waiting.append(asyncio.create_task((await shop.price.enqueue("A-1")).result()))
        await asyncio.sleep(0)

    waiting: list[asyncio.Task[int]] = []
    run_and_close(begin())

    async def go_on() -> None:
        async with shop.app:
            assert (await drain(shop.app)).done == 9

    asyncio.run(go_on())
    asyncio.run(opened_and_used(shop))


@pytest.mark.usefixtures("unclosed")
def test_a_forgotten_application_takes_its_settings_from_the_environment_again(database_url, monkeypatch):
    app = Penstock("shop")

    @app.task()
    async def nothing() -> None: ...

    async def where() -> str:
        await nothing.enqueue()
        return await app.database_url()

    monkeypatch.setenv("PENSTOCK_DATABASE_URL", database_url)
    assert asyncio.run(where()) == database_url
    monkeypatch.setenv("PENSTOCK_DATABASE_URL", database_url + "&application_name=second")
    assert asyncio.run(where()).endswith("second")
    asyncio.run(app.close())


@pytest.mark.usefixtures("unclosed")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_worker_whose_loop_ended_keeps_no_lease(shop):
    """Its heartbeat has a thread of its own, which would keep its tasks for ever."""

    async def begin() -> None:
        shop.begun = asyncio.get_running_loop().create_future()
        await InProcessWorker(shop.app, upkeep=False).start()
        waits.append((await shop.stuck.enqueue()).id)
        await shop.begun

    waits: list[int] = []
    run_and_close(begin())

    async def go_on() -> int:
        async with shop.app, worker(shop.app):
            return await shop.app.task_by_id(waits[0]).result(60)

    assert asyncio.run(go_on()) == 2


async def test_an_application_that_is_open_in_another_loop_says_so(shop):
    async with shop.app:
        with pytest.raises(UsageError, match="'shop' is open in another event loop"):
            await asyncio.to_thread(asyncio.run, shop.price.enqueue("A-1"))
        with pytest.raises(UsageError, match="'shop' is open in another event loop"):
            await asyncio.to_thread(asyncio.run, shop.app.close())
        await shop.price.enqueue("A-1")


async def test_whoever_waits_for_a_result_is_told_that_the_application_was_closed(shop):
    await shop.app.open()
    waiting = asyncio.create_task((await shop.price.enqueue("A-1")).result())
    await asyncio.sleep(0)
    await shop.app.close()
    with pytest.raises(UsageError, match="closed"):
        await waiting


async def test_a_task_enqueued_without_a_loop_is_awaited_in_the_callers_loop(shop):
    async with shop.app, worker(shop.app):
        task = await asyncio.to_thread(shop.price.enqueue_sync, "A-1")
        assert await task.result(60) == 3


async def test_an_enqueue_without_a_loop_is_told_that_the_application_was_closed(shop):
    """Its own loop is stopped; it must not wait for an answer that nobody gives."""
    async with Proxy(shop.url) as proxy:
        proxy.blackhole()
        app = Penstock("away", settings=load(database_url=proxy.url, connect_timeout_seconds=300), events=Events())
        price = app.task(name="price")(_nothing)
        asked = asyncio.create_task(asyncio.to_thread(price.enqueue_sync))
        while proxy.accepted == 0:
            await asyncio.sleep(0.01)
        await app.close()
        with pytest.raises(UsageError, match="closed"):
            await asked


async def _nothing() -> None: ...


async def test_no_connection_is_left_when_the_application_is_closed(shop):
    await opened_and_used(shop)
    outside = await asyncpg.connect(shop.url)
    try:
        # A backend leaves the list some time after its connection was closed.
        left = "select count(*) from pg_stat_activity where datname = current_database() and application_name like $1"
        while await outside.fetchval(left, "penstock%"):
            await asyncio.sleep(0.02)
    finally:
        await outside.close()
