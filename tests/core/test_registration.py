"""Which stages and schedules an application registers, and to which application they belong then."""

import asyncio

import asyncpg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.control import stages
from penstock.errors import NotKnown, PipelineTaken
from penstock.events import Events
from penstock.extensions import catalogue
from penstock.workers.inprocess import InProcessWorker


def application(database_url: str, name: str, *tasks: str) -> Penstock:
    made = Penstock(name, settings=load(database_url=database_url, health_seconds=3600, poll_max_seconds=0.3))
    for task in tasks:

        async def run(n: int = 0) -> str:
            return name

        made.task(name=task)(run)
    return made


@pytest.fixture
async def rows(database_url: str):
    """``await rows("select …")`` on a connection of the test's own."""
    connection = await asyncpg.connect(database_url)

    async def fetch(query: str, *values: object) -> list[tuple[object, ...]]:
        return [tuple(row) for row in await connection.fetch(query, *values)]

    yield fetch
    await connection.close()


OWNERS = "select pipeline, application from penstock.stages order by pipeline"

# ---------------------------------------------------------------- what is registered


async def test_a_process_that_runs_no_tasks_registers_only_what_it_stores(database_url, rows):
    app = application(database_url, "shop", "send", "bill", "count", "ship")
    app.schedule("* * * * *", app.task(name="nightly")(lambda: None))
    app.use(app.settings, Events(), registers=False)
    async with app:
        assert await rows("select pipeline from penstock.stages") == []
        await app.enqueue("send", {"n": 1})
        async with app.connection() as connection, connection.transaction():
            await app.store(app.pipelines["bill"], {}, _options(), connection)
            await app.store(app.pipelines["bill"], {}, _options(), connection)
        await app.store_many(app.pipelines["count"], [{"n": 1}, {"n": 2}], _options(), name=None, metadata={})
    registered = await rows("select pipeline from penstock.stages order by pipeline")
    assert [name for (name,) in registered] == ["bill", "count", "send"]
    assert await rows("select name from penstock.schedules") == []
    assert len(await rows("select id from penstock.tasks")) == 5


async def test_what_was_registered_in_a_transaction_that_is_taken_back_is_registered_again(database_url, rows):
    app = application(database_url, "shop", "send")
    app.use(app.settings, Events(), registers=False)
    async with app:
        with pytest.raises(ZeroDivisionError):
            async with app.connection() as connection, connection.transaction():
                await app.store(app.pipelines["send"], {}, _options(), connection)
                raise ZeroDivisionError
        assert await rows("select pipeline from penstock.stages") == []
        await app.enqueue("send")
    assert len(await rows("select id from penstock.tasks")) == 1


async def test_a_stage_that_a_worker_registered_meanwhile_is_found(database_url):
    service = application(database_url, "shop", "send")
    service.use(service.settings, Events(), registers=False)
    async with service, InProcessWorker(application(database_url, "shop", "send")):
        job = await service.store_many(service.pipelines["send"], [{}], _options(), name=None, metadata={})
        await job.wait(60)


async def test_a_synchronous_enqueue_keeps_the_schedules_declared(database_url, rows):
    app = application(database_url, "shop")
    task = app.task(name="nightly")(lambda: None)
    app.schedule("0 3 * * *", task)
    async with app:
        await asyncio.to_thread(task.enqueue_sync)
    assert await rows("select name, declared from penstock.schedules") == [("nightly", True)]


def _options():
    from penstock.core.enqueue import EnqueueOptions

    return EnqueueOptions()


# ---------------------------------------------------------------- to whom it belongs


async def test_a_second_application_with_a_task_of_the_same_name_is_refused(database_url, rows):
    async with application(database_url, "shop", "send"):
        other = application(database_url, "agency", "mail", "send")
        with pytest.raises(PipelineTaken) as refused:
            await other.open()
        with pytest.raises(PipelineTaken):
            await InProcessWorker(other).start()
        await other.close()
    for part in ("'send'", "'shop'", "'agency'", "name=", "another database", "penstock stages transfer shop agency"):
        assert part in str(refused.value), refused.value
    assert ("send", "shop") in await rows(OWNERS)


async def test_a_pipeline_of_the_same_name_is_refused_also_with_other_stages(database_url, rows):
    async def step(n: int = 0) -> None: ...

    first, second = application(database_url, "shop"), application(database_url, "agency")
    first.pipeline("orders").stage("read")(step)
    second.pipeline("orders").stage("fetch")(step)
    async with first:
        with pytest.raises(PipelineTaken):
            await second.open()
    assert await rows("select pipeline, name from penstock.stages") == [("orders", "read")]


async def test_of_two_applications_that_start_at_the_same_moment_one_gets_the_name(database_url, rows):
    applications = [application(database_url, f"app{n}", "send") for n in range(6)]
    ended = await asyncio.gather(*(one.open() for one in applications), return_exceptions=True)
    for one in applications:
        await one.close()
    winners = [one.name for one, error in zip(applications, ended, strict=True) if error is None]
    assert len(winners) == 1
    assert all(error is None or isinstance(error, PipelineTaken) for error in ended)
    assert await rows(OWNERS) == [("send", winners[0])]


async def test_the_same_application_registers_again_and_again_also_in_another_release(database_url, rows):
    async with application(database_url, "shop", "send"), application(database_url, "shop", "send", "bill"):
        async with application(database_url, "shop", "send") as again:
            assert await rows(OWNERS) == [("bill", "shop"), ("send", "shop")]
            newer = application(database_url, "shop")
            newer.task(name="send", max_attempts=7)(lambda: None)
            async with newer, InProcessWorker(again):
                await (await again.enqueue("send")).result(60)
    assert await rows("select max_attempts from penstock.stages where pipeline = 'send'") == [(7,)]


async def test_stages_of_an_earlier_release_belong_to_the_first_that_registers_them(database_url, rows):
    async with application(database_url, "shop", "send") as app, app.connection() as connection:
        await connection.execute("update penstock.stages set application = null")
    async with application(database_url, "agency", "send"):
        assert await rows(OWNERS) == [("send", "agency")]
        with pytest.raises(PipelineTaken):
            await application(database_url, "shop", "send").open()


async def test_the_tasks_of_penstock_itself_belong_to_no_application(database_url, rows):
    from penstock.console.grids import selection_actions

    first, second = application(database_url, "shop"), application(database_url, "agency")
    for one in (first, second):
        selection_actions.install(one)
    async with first, second:
        assert await rows(OWNERS) == [("penstock.selection", None)]


async def test_applications_that_install_the_same_extension_share_its_pipelines(database_url, rows):
    first, second = application(database_url, "shop"), application(database_url, "agency")
    for one in (first, second):
        catalogue.install(one)
    async with first, second:
        assert set(await rows(OWNERS)) == {("catalogue", "penstock.apps"), ("catalogue.forget", "penstock.apps")}
        with pytest.raises(PipelineTaken, match=r"penstock\.apps"):
            await application(database_url, "gallery", "catalogue").open()


async def test_a_service_does_not_store_tasks_for_another_application_that_declares_the_same_name(database_url):
    async with application(database_url, "shop", "send"):
        service = application(database_url, "agency", "send")
        service.use(service.settings, Events(), registers=False)
        async with service:
            with pytest.raises(PipelineTaken, match="shop"):
                await service.enqueue("send", {"n": 1})


async def test_work_may_be_stored_for_another_application_by_its_name(database_url):
    async with application(database_url, "shop", "send") as shop, InProcessWorker(shop):
        async with application(database_url, "agency") as other:
            assert await (await other.enqueue("send", {"n": 1})).result(60) == "shop"


async def test_a_renamed_application_takes_its_stages_and_schedules_over(database_url, rows):
    old = application(database_url, "shop", "send", "bill")
    old.schedule("0 3 * * *", old.task(name="nightly")(lambda: None))
    told: list[dict[str, object]] = []
    async with old:
        old.events.add(lambda event: told.append({"name": event.name, **event.data}))
        assert await stages.transfer(old, "shop", "store", by="ann") == ["bill", "nightly", "send"]
    assert told == [{"name": "stages.transferred", "application": "shop", "to": "store", "pipelines": 3, "by": "ann"}]
    assert await rows("select name, source from penstock.schedules") == [("nightly", "store")]
    async with application(database_url, "store", "send", "bill"):
        assert set(await rows(OWNERS)) == {("bill", "store"), ("nightly", "store"), ("send", "store")}
    with pytest.raises(PipelineTaken):
        await application(database_url, "shop", "send").open()


async def test_one_pipeline_is_transferred_where_it_is_named_and_a_wrong_name_is_refused(database_url, rows):
    async with application(database_url, "shop", "send", "bill") as app:
        assert await stages.transfer(app, "shop", "agency", only=["send"], by="ann") == ["send"]
        assert await rows(OWNERS) == [("bill", "shop"), ("send", "agency")]
        with pytest.raises(NotKnown, match=r"application 'shoop'.*agency, shop"):
            await stages.transfer(app, "shoop", "store", by="ann")
        with pytest.raises(NotKnown, match=r"pipeline of 'shop' 'nope'.*bill"):
            await stages.transfer(app, "shop", "store", only=["nope"], by="ann")
    assert await rows(OWNERS) == [("bill", "shop"), ("send", "agency")]
