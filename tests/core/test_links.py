"""A link that was lost says so, and says once that it works again; and what else surrounds a run."""

import asyncio
from itertools import pairwise

import asyncpg
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from penstock import Penstock
from penstock.config import load
from penstock.core.outage import LinkWatch
from penstock.events import Events
from penstock.lifecycle import State
from penstock.storage import database, dialer
from penstock.workers import listener

_CUT = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and application_name = $1
"""


def test_a_link_is_back_once_however_often_it_was_lost(heard):
    watch = LinkWatch(Events([heard.on_event]), "claim")
    watch.works()
    for _ in range(3):
        watch.lost(OSError("gone"))
    watch.works()
    watch.works()
    assert heard.named("database.back") == [{"link": "claim"}]
    assert len(heard.named("database.lost")) == 3


async def test_links_of_a_runner_that_were_cut_say_once_that_they_are_back(
    app, working, heard, database_url, monkeypatch
):
    monkeypatch.setenv("PENSTOCK_FAILPOINTS", "before_claim:drop_connection:0.5,before_settle:drop_connection:0.5")
    monkeypatch.setattr(listener, "_CHECK_SECONDS", 0.02)

    @app.task()
    async def step() -> None: ...

    async with working():
        await (await step.enqueue()).result(60)
        outside = await asyncpg.connect(database_url)
        assert await outside.fetchval(_CUT, "penstock listen") == 1
        await outside.close()
        async with asyncio.timeout(60):
            while {one["link"] for one in heard.named("database.back")} != {"claim", "settle", "listen"}:
                await (await step.enqueue()).result(60)
    for link in ("claim", "settle", "listen"):
        told = [event.name for event in heard.events if event.data.get("link") == link]
        assert told[0] == "database.lost"
        assert ("database.back", "database.back") not in pairwise(told)


async def test_a_link_whose_owner_is_cancelled_as_it_opens_leaves_no_connection_behind(database_url, monkeypatch):
    opened = []

    async def cancelled_meanwhile(*arguments, **options):
        opened.append(await connect(*arguments, **options))
        asyncio.current_task().cancel()
        return opened[0]

    connect = database.connect
    monkeypatch.setattr(database, "connect", cancelled_meanwhile)
    link = database.Link(load(database_url=database_url), database_url, purpose="test", lock_timeout_ms=500)
    await asyncio.gather(asyncio.create_task(link.connection()), return_exceptions=True)
    link.drop()
    assert [one.is_closed() for one in opened] == [True]


async def test_a_link_waits_for_the_locks_of_others_no_longer_than_it_was_told(database_url):
    link = database.Link(load(database_url=database_url), database_url, purpose="test", lock_timeout_ms=500)
    assert await (await link.connection()).fetchval("show lock_timeout") == "500ms"
    await link.close()


async def test_a_task_enqueued_by_its_name_alone_is_told_traced_and_announced(app, working, heard, database_url):
    """Like one that is enqueued by the function; the caller need not have its code."""

    @app.task()
    async def step() -> None: ...

    await app.open()
    elsewhere = Penstock("elsewhere", settings=load(database_url=database_url), events=Events([heard.on_event]))
    tracer = TracerProvider().get_tracer("test")
    async with elsewhere:
        with tracer.start_as_current_span("caller") as span:
            task = await elsewhere.enqueue("step", {})
        number = trace.format_trace_id(span.get_span_context().trace_id)
        assert number in (await task.details())["trace"]
    (told,) = heard.named("tasks.enqueued")
    assert (told["pipeline"], told["tasks"], told["created"]) == ("step", [task.id], True)


async def test_the_place_before_a_run_can_fail(app, working, monkeypatch):
    monkeypatch.setenv("PENSTOCK_FAILPOINTS", "before_run:raise")
    ran = []

    @app.task(max_attempts=1)
    async def step() -> None:
        ran.append(1)

    async with working():
        state, _, error = await (await step.enqueue()).wait(60)
    assert (state, error["type"], ran) == (State.ERROR, "FailpointHit", [])


async def test_a_pool_whose_owner_is_cancelled_as_it_opens_leaves_no_connection_behind(database_url, monkeypatch):
    pools = []

    async def cancelled_meanwhile(*arguments, **options):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    async def kept(*arguments, **options):
        pools.append(await create_pool(*arguments, **options))
        return pools[0]

    create_pool = asyncpg.create_pool
    monkeypatch.setattr(asyncpg, "create_pool", kept)
    monkeypatch.setattr(dialer, "_suitable", cancelled_meanwhile)
    opening = database.pool(load(database_url=database_url), database_url, purpose="test", size=2)
    await asyncio.gather(asyncio.create_task(opening), return_exceptions=True)
    assert [pool.get_size() for pool in pools] == [0]


async def test_a_runner_reports_that_its_database_only_takes_reads(app, working):
    """Its connection was opened before, and answers every question."""

    @app.task()
    async def step() -> None: ...

    async with working(upkeep=False) as inside:
        async with inside.runner.facilities.pool.acquire() as connection:
            await connection.execute("set default_transaction_read_only = on")
        problems = (await inside.runner.health.run_once()).problems
        assert any(problem.startswith("The database is read-only") for problem in problems), problems
        assert not any("does not answer" in problem for problem in problems)
