"""Two releases of one application on one database: what one cannot run, it leaves for the other."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from typing import Any, Literal

import asyncpg
import pytest

from penstock import Penstock, State
from penstock.config import load
from penstock.core.run import waited
from penstock.events import Event, Events
from penstock.insight.checks.fleet import version_skew
from penstock.insight.overview import overview
from penstock.insight.why import Reason, explain
from penstock.observe.finding import Health, Patient
from penstock.testing import drain
from penstock.workers.inprocess import InProcessWorker


class Release:
    """One release of the application, with what its workers told."""

    def __init__(self, database_url: str, *functions: Callable[..., Any], **settings: Any) -> None:
        self._told: defaultdict[int, asyncio.Queue[str]] = defaultdict(asyncio.Queue)
        self.app = Penstock(
            "shop",
            settings=load(database_url=database_url, health_seconds=3600, poll_max_seconds=0.3, **settings),
            events=Events([self._on_event]),
        )
        self.tasks = [self.app.task(name="resize" if n == 0 else f"task{n}")(one) for n, one in enumerate(functions)]

    def _on_event(self, event: Event) -> None:
        if event.name in ("tasks.released", "tasks.finished"):
            for task in event.data["tasks"]:
                self._told[task].put_nowait(event.data.get("cause") or event.data["state"])

    async def settled(self, task_id: int) -> str:
        """What became of its next run here."""
        return await asyncio.wait_for(self._told[task_id].get(), 60)


@pytest.fixture
async def connection(database_url: str):
    opened = await asyncpg.connect(database_url)
    yield opened
    await opened.close()


async def make_due(connection: asyncpg.Connection) -> None:
    await connection.execute("update penstock.queue set run_at = now() where worker is null")


def narrow(width: int) -> str:
    return f"{width}"


async def wide(width: int, quality: int = 80) -> str:
    return f"{width} at {quality}"


async def test_an_old_worker_leaves_a_task_with_a_new_argument_for_a_newer_worker(database_url, connection):
    old, new = Release(database_url, narrow), Release(database_url, wide)
    async with old.app, new.app:
        async with InProcessWorker(old.app):
            task = await new.tasks[0].enqueue(10, quality=90)
            assert await old.settled(task.id) == "version skew"
            why = await explain(connection, task.id)
            assert (why.state, why.reason) == (State.PENDING, Reason.VERSION_SKEW)
            assert why.until is not None
            for part in ("worker", "another release", "unknown argument 'quality'", "no attempt"):
                assert part in why.sentence, why.sentence
            assert f"penstock tasks cancel {task.id}" in (why.next_step or "")
            waiting = await connection.fetchrow("select attempt, crashes, rescues from penstock.queue")
            assert tuple(waiting) == (0, 0, 0)
        await make_due(connection)
        async with InProcessWorker(new.app):
            assert await task.result(60) == "10 at 90"
        assert await connection.fetchval("select attempts from penstock.outcomes") == 1


def changed_choice(width: Literal[1, 2], day: date | None = None) -> None: ...
def wider_choice(width: Literal[1, 2, 3], day: date | None = None) -> None: ...
def required_more(width: int, quality: int) -> None: ...
async def typed(width: int, day: date) -> None: ...
async def typed_more(width: int, day: date, quality: int = 80) -> None: ...


@pytest.mark.parametrize(
    ("here", "elsewhere", "arguments", "problem"),
    [
        (wide, required_more, {"width": 1, "quality": 2}, None),
        (required_more, wide, {"width": 1}, "missing argument 'quality'"),
        (typed, typed_more, {"width": 1, "day": "2026-01-02", "quality": 2}, "unknown argument 'quality'"),
        (changed_choice, wider_choice, {"width": 3}, "width: input should be 1 or 2"),
    ],
)
async def test_what_does_not_fit_the_handler_is_left(database_url, connection, here, elsewhere, arguments, problem):
    mine, other = Release(database_url, here), Release(database_url, elsewhere)
    async with mine.app, other.app, InProcessWorker(mine.app):
        task = await other.app.enqueue("resize", arguments)
        if problem is None:
            assert await mine.settled(task.id) == "DONE"
        else:
            assert await mine.settled(task.id) == "version skew"
            assert problem in (await explain(connection, task.id)).sentence


async def test_an_isolated_handler_leaves_it_too(database_url):
    old, new = Release(database_url), Release(database_url, wide)
    old.app.task(name="resize", isolated=True)(narrow)
    async with old.app, new.app, InProcessWorker(old.app):
        task = await new.tasks[0].enqueue(10, quality=90)
        assert await old.settled(task.id) == "version skew"


async def test_an_input_that_sql_stored_with_a_typing_mistake_waits_and_says_why(database_url, connection):
    release = Release(database_url, narrow)
    async with release.app, InProcessWorker(release.app):
        task_id = await connection.fetchval("""select task_id from penstock.enqueue('resize', '{"widht": 3}')""")
        assert await release.settled(task_id) == "version skew"
        sentence = (await explain(connection, task_id)).sentence
    assert "unknown argument 'widht'" in sentence
    assert "missing argument 'width'" in sentence


async def test_a_type_error_of_the_handler_itself_burns_an_attempt_as_every_error(database_url):
    def broken(width: int) -> str:
        return "a" + width  # type: ignore[operator]

    release = Release(database_url, broken)
    async with release.app, InProcessWorker(release.app):
        task = await release.tasks[0].enqueue(1)
        assert await release.settled(task.id) == "retry"


async def test_tasks_that_are_left_do_not_hold_up_the_others_and_come_back_ever_later(database_url, connection):
    old, new = Release(database_url, narrow), Release(database_url, wide)
    async with old.app, new.app, InProcessWorker(old.app):
        left = [await new.tasks[0].enqueue(n, quality=1) for n in range(20)]
        fitting = await new.tasks[0].enqueue(99)
        assert await fitting.result(60) == "99"
        for task in left:
            assert await old.settled(task.id) == "version skew"
        first = await connection.fetchval("select count(*) from penstock.attempts")
        await connection.execute("update penstock.attempts set at = at - interval '10 minutes'")
        await make_due(connection)
        later: set[int] = set()
        while later < {task.id for task in left}:
            await old.settled(next(task.id for task in left if task.id not in later))
            later |= {row["task_id"] for row in await connection.fetch(WAITS_FOR_MINUTES)}
    # Then half of the ten minutes that it has waited.
    assert first >= len(left)
    assert [waited(0), waited(600), waited(1e6)] == [5.0, 300.0, 900.0]


WAITS_FOR_MINUTES = """
    select task_id from penstock.attempts
    where at > now() - interval '5 minutes' and next_run_at - at > interval '299 seconds'"""


async def test_what_no_release_takes_is_told_to_people_and_becomes_a_dead_letter_in_the_end(database_url, connection):
    old, new = Release(database_url, narrow, version_skew_days=2.0), Release(database_url, wide)
    patient = Patient(connection=connection, settings=old.app.settings, home=None)
    async with old.app, new.app, InProcessWorker(old.app):
        task = await new.tasks[0].enqueue(10, quality=90)
        assert await old.settled(task.id) == "version skew"
        assert (await version_skew(patient))[0] is Health.OK
        await connection.execute("update penstock.attempts set at = at - interval '30 minutes'")
        health, sentence, _ = await version_skew(patient)
        assert health is Health.WARN
        assert "resize" in sentence
        assert "unknown argument 'quality'" in sentence
        attention = (await overview(connection)).attention
        assert [one.next_step for one in attention if "another release" in one.sentence] == [
            f"`penstock tasks why {task.id}`"
        ]
        await connection.execute("update penstock.attempts set at = at - interval '2 days'")
        await make_due(connection)
        state, _, error = await task.wait(60)
        assert state is State.ERROR
        assert error is not None
        assert "unknown argument 'quality'" in error["message"]
        assert (await version_skew(patient))[0] is Health.OK


async def test_a_task_of_a_newer_release_is_never_claimed_by_an_old_worker(database_url, connection):
    old, new = Release(database_url, narrow), Release(database_url, wide, wide)
    async with old.app, new.app:
        async with InProcessWorker(old.app):
            unknown = await new.tasks[1].enqueue(1)
            await (await new.tasks[0].enqueue(2)).result(60)
            assert (await explain(connection, unknown.id)).reason is Reason.NO_WORKER
            assert await connection.fetchval("select lease from penstock.queue") is None
        async with InProcessWorker(new.app):
            assert await unknown.result(60) == "1 at 80"


async def test_in_a_test_what_does_not_fit_fails_at_once(database_url, connection):
    release = Release(database_url, narrow)
    async with release.app:
        await connection.fetchval("""select task_id from penstock.enqueue('resize', '{"widht": 3}')""")
        assert (await drain(release.app, advance=True)).failed == 1
