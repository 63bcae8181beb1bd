"""The channel ``penstock_changes``: heard by a real LISTEN, coalesced, bounded, and never in the way."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import orjson
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.errors import DatabaseUnavailable
from penstock.events import Event
from penstock.observe.changes import LIMIT_BYTES, Changes, payload
from penstock.storage.changes import CHANNEL
from penstock.workers.inprocess import worker


class Ear:
    """Hears what an outside listener would."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.at: list[float] = []
        self._news = asyncio.Event()

    def __call__(self, connection: Any, pid: int, channel: str, message: object) -> None:
        assert isinstance(message, str)
        self.messages.append(orjson.loads(message))
        self.at.append(time.monotonic())
        self._news.set()

    def moves(self, stage: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for message in self.messages:
            total.update(message["stages"].get(stage, {}))
        return total

    def jobs(self) -> set[int]:
        return {job for message in self.messages for job in message["jobs"]}

    async def until_heard(self, stage: str, move: str, count: int) -> None:
        async with asyncio.timeout(60):
            while self.moves(stage)[move] < count:
                self._news.clear()
                await self._news.wait()


@pytest.fixture
async def ear(connection: asyncpg.Connection) -> Ear:
    heard = Ear()
    await connection.add_listener(CHANNEL, heard)
    return heard


def application(url: str) -> Penstock:
    app = Penstock("told", settings=load(database_url=url))

    @app.task()
    async def double(n: int) -> int:
        return 2 * n

    chain = app.pipeline("chain")

    @chain.stage()
    async def first(n: int) -> int:
        return n + 1

    @chain.stage()
    async def second(n: int) -> int:
        return n + 1

    return app


async def test_a_listener_hears_every_move_with_its_stage_and_job(database_url: str, ear: Ear):
    app = application(database_url)
    async with app, worker(app):
        job = await app.store_many(
            app.pipelines["double"], [{"n": n} for n in range(300)], options(), name=None, metadata={}
        )
        await ear.until_heard("double", "done", 300)
        await app.enqueue("chain", {"n": 1})
        await ear.until_heard("chain/second", "done", 1)
    assert ear.moves("double") == {"enqueued": 300, "claimed": 300, "done": 300}
    assert ear.moves("chain/first") == {"enqueued": 1, "claimed": 1, "advanced": 1}
    assert ear.moves("chain/second") == {"claimed": 1, "done": 1}
    assert ear.jobs() == {job.id}
    assert all(message["complete"] for message in ear.messages)


async def test_a_process_sends_at_most_five_messages_a_second(database_url: str, ear: Ear):
    app = application(database_url)
    async with app, worker(app):
        begun = time.monotonic()
        for n in range(400):
            await app.enqueue("double", {"n": n})
        await ear.until_heard("double", "done", 400)
    took = time.monotonic() - begun
    # One comes at once, one more when the worker stops.
    assert len(ear.messages) <= 5 * took + 2


async def test_the_last_changes_are_told_when_the_worker_stops(database_url: str, ear: Ear):
    app = application(database_url)
    async with app:
        async with worker(app):
            task = await app.enqueue("double", {"n": 1})
            await task.result(60)
        await ear.until_heard("double", "done", 1)


async def test_what_could_not_be_sent_goes_out_with_the_next_message(connection: asyncpg.Connection, ear: Ear):
    away = True

    @asynccontextmanager
    async def connect() -> AsyncIterator[asyncpg.Connection]:
        if away:
            raise DatabaseUnavailable(what="gone", next_step="Wait.")
        yield connection

    changes = Changes(connect)
    changes.know({7: "double"})
    finished = {"stage": 7, "state": "DONE", "count": 2, "tasks": [1, 2]}
    changes.on_event(Event("tasks.finished", finished))
    assert await changes.run_once() == 0
    away = False
    changes.on_event(Event("tasks.finished", finished))
    assert await changes.run_once() == 1
    await ear.until_heard("double", "done", 4)
    assert await changes.run_once() == 0


async def test_the_job_of_a_task_is_named_again_when_the_task_ends(connection: asyncpg.Connection, ear: Ear):
    @asynccontextmanager
    async def connect() -> AsyncIterator[asyncpg.Connection]:
        yield connection

    changes = Changes(connect)
    changes.know({7: "double"})
    changes.on_event(Event("tasks.claimed", {"stage": 7, "count": 2, "tasks": [1, 2], "job_of": {1: 40, 2: 41}}))
    await changes.run_once()
    changes.on_event(Event("tasks.finished", {"stage": 7, "state": "DONE", "count": 1, "tasks": [1]}))
    await changes.run_once()
    await ear.until_heard("double", "done", 1)
    assert [message["jobs"] for message in ear.messages] == [[40, 41], [40]]


def test_a_payload_fits_into_a_notify_and_says_when_something_is_missing():
    whole = payload({"a": {"done": 1}}, {3, 1, 2})
    assert orjson.loads(whole) | {"at": ""} == {
        "stages": {"a": {"done": 1}},
        "jobs": [1, 2, 3],
        "objects": [],
        "complete": True,
        "at": "",
    }
    many = payload({f"stage {number}": {"done": number} for number in range(1000)}, set(range(100_000)))
    assert len(many.encode()) <= LIMIT_BYTES
    assert orjson.loads(many)["complete"] is False
    assert orjson.loads(many)["stages"]


def options() -> Any:
    from penstock import EnqueueOptions

    return EnqueueOptions()
