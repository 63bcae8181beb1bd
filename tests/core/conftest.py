"""An application on a database of its own, and a worker inside the test's process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.events import Event, Events
from penstock.workers.inprocess import InProcessWorker


class Heard:
    """Every event of the application, to wait for and to look at."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.name == name]


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def app(database_url: str, heard: Heard) -> AsyncIterator[Penstock]:
    settings = load(
        database_url=database_url,
        heartbeat_seconds=0.2,
        lease_seconds=60.0,
        poll_max_seconds=0.3,
        grace_seconds=1.0,
        health_seconds=3600,
    )
    made = Penstock("test", settings=settings, events=Events([heard.on_event]))
    yield made
    await made.close()


@pytest.fixture
def working(app: Penstock) -> Callable[..., Any]:
    """``async with working():`` serves the application's tasks."""

    @asynccontextmanager
    async def serve(**options: Any) -> AsyncIterator[InProcessWorker]:
        async with InProcessWorker(app, **options) as inside:
            yield inside

    return serve


@pytest.fixture
def record(app):
    """A task that notes the order in which it ran."""
    ran = []

    @app.task(pool=1)
    async def note(label: str) -> str:
        ran.append(label)
        return label

    note.ran = ran
    return note


@pytest.fixture
def crowded(app):
    """A pipeline of two stages that notes how many of its runs there were at once."""
    pipe = app.pipeline("pipe")
    pipe.running = pipe.most = 0

    async def step():
        pipe.running += 1
        pipe.most = max(pipe.most, pipe.running)
        await asyncio.sleep(0.01)
        pipe.running -= 1

    @pipe.stage("one")
    async def one(n: int):
        await step()

    @pipe.stage("two")
    async def two(_):
        await step()

    return pipe
