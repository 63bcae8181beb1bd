"""Alerts: opened once, repeated every hour, closed with a message; one teller, whatever the webhook does."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import orjson
import pytest

from penstock import Penstock
from penstock.closing import stop_listening
from penstock.config import load
from penstock.events import Event, Events
from penstock.extensions.articles import alerts
from penstock.lifecycle import State
from tests.extensions.articles_queue import EmbeddingQueue, embedding_queue
from tests.storage.world import LEASE_SECONDS


class Hook:
    """A webhook on loopback: answers ``status``, or not at all while ``held``; keeps what it was sent."""

    def __init__(self) -> None:
        self.status = 200
        self.held: asyncio.Event | None = None
        self.messages: list[dict[str, Any]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            self.messages.append(orjson.loads(await reader.readexactly(length)))
            if self.held is not None:
                await self.held.wait()
            writer.write(f"HTTP/1.1 {self.status} x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".encode())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    made = Hook()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/alerts"
    yield made
    if made.held is not None:
        made.held.set()
    await stop_listening(server)
    await server.wait_closed()


class Watched:
    """An application whose queue is in trouble soon: limits of one task and ten seconds."""

    def __init__(self, app: Penstock, queue: EmbeddingQueue, told: list[Event]) -> None:
        self.app, self.queue, self._told = app, queue, told

    @property
    def logged(self) -> list[tuple[str, str]]:
        return [(one.data["kind"], one.data["state"]) for one in self._told if one.name == "articles.alert"]

    async def look(self) -> list[tuple[str, str, bool]]:
        return [(one.kind, one.state, one.problem is None) for one in await alerts.watch(self.app)]

    async def later(self, seconds: float) -> None:
        """Time passes for alerts, queue and workers."""
        for statement in (
            "update article_search.alerts set opened_at = opened_at - $1 * interval '1 second', "
            "told_at = told_at - $1 * interval '1 second'",
            "update penstock.queue set run_at = run_at - $1 * interval '1 second'",
            "update penstock.outcomes set finished_at = finished_at - $1 * interval '1 second'",
            "update penstock.workers set heartbeat_at = heartbeat_at - $1 * interval '1 second', "
            "lease_until = lease_until - $1 * interval '1 second'",
        ):
            await self.queue.connection.execute(statement, seconds)

    async def fail(self, count: int) -> None:
        for _ in range(count):
            await self.queue.run(await self.queue.put(), State.ERROR)


Make = Callable[..., Any]


@pytest.fixture
def watching(database_url: str, connection: asyncpg.Connection) -> Make:
    @asynccontextmanager
    async def make(address: str | None = None, **settings: Any) -> AsyncIterator[Watched]:
        told: list[Event] = []
        given = {
            "articles_alert_webhook": address,
            "articles_alert_waiting": 1,
            "articles_alert_waiting_seconds": 10,
            "articles_alert_failures": 3,
            "articles_alert_silent_seconds": 30,
        }
        chosen = load(database_url=database_url, **given | settings)
        async with Penstock("test", settings=chosen, events=Events([told.append])) as app:
            yield Watched(app, await embedding_queue(app, connection), told)

    return make


async def test_repeated_failures_open_once_and_close_with_a_message(watching: Make, hook: Hook):
    async with watching(hook.url) as watched:
        await watched.fail(2)
        assert await watched.look() == []
        await watched.fail(1)
        assert await watched.look() == [("failing", "open", True)]
        assert await watched.look() == []
        await watched.later(3000)
        assert await watched.look() == []
        await watched.later(700)
        assert await watched.look() == [("failing", "closed", True)]
        assert await watched.look() == []
        assert watched.logged == [("failing", "open"), ("failing", "closed")]
    opened, closed = hook.messages
    assert set(opened) == {"kind", "state", "since", "sentence", "details"}
    assert (opened["kind"], opened["state"], closed["state"]) == ("failing", "open", "closed")
    assert opened["details"]["failures"] == 3 and "3 embeddings failed" in opened["sentence"]
    assert "no answer" in opened["sentence"] and closed["since"] < opened["since"]  # an hour was made to pass


async def test_an_open_alert_is_repeated_every_hour(watching: Make, hook: Hook):
    async with watching(hook.url) as watched:
        await watched.queue.world.worker()
        for _ in range(2):
            await watched.queue.put()
        assert await watched.look() == []
        await watched.later(11)
        await watched.queue.world.worker()
        assert await watched.look() == [("backed-up", "open", True)]
        for _ in range(2):
            await watched.later(3601)
            await watched.queue.world.worker()
            assert await watched.look() == [("backed-up", "open", True)]
            assert await watched.look() == []
    assert [one["kind"] for one in hook.messages] == ["backed-up"] * 3


async def test_a_worker_that_is_down_is_told_when_work_waits(watching: Make, hook: Hook):
    async with watching(hook.url, articles_alert_waiting=100, articles_alert_silent_seconds=1800) as watched:
        await watched.queue.world.worker()
        await watched.later(LEASE_SECONDS + 1000)
        assert await watched.look() == []  # nothing waits for it
        task_id = await watched.queue.put()
        assert await watched.look() == []  # it may be starting
        await watched.later(1801)
        assert await watched.look() == [("worker-down", "open", True)]
        assert "penstock worker" in hook.messages[0]["sentence"]
        await watched.queue.run(task_id, State.DONE)
        assert await watched.look() == [("worker-down", "closed", True)]


async def test_a_worker_that_stopped_a_moment_ago_is_not_missed_yet(watching: Make):
    async with watching(None, articles_alert_waiting=100) as watched:
        await watched.queue.put()
        await watched.later(60)
        worker = await watched.queue.world.worker()
        await watched.queue.connection.execute("update penstock.workers set stopped_at = now() where id = $1", worker)
        assert await watched.look() == []
        await watched.queue.connection.execute("update penstock.workers set stopped_at = now() - interval '31 seconds'")
        assert await watched.look() == [("worker-down", "open", True)]


async def test_a_worker_of_something_else_does_not_count(watching: Make):
    async with watching(None, articles_alert_waiting=100) as watched:
        await watched.queue.put()
        await watched.later(60)
        worker = await watched.queue.world.worker()
        await watched.queue.connection.execute("update penstock.workers set stages = '{999}' where id = $1", worker)
        assert await watched.look() == [("worker-down", "open", True)]


@pytest.mark.parametrize("paused", ["stages", "lanes"])
async def test_what_somebody_paused_is_no_trouble(watching: Make, paused: str):
    async with watching(None) as watched:
        for _ in range(3):
            await watched.queue.put()
        await watched.later(1000)
        await watched.queue.connection.execute(f"update penstock.{paused} set paused_at = now()")
        assert await watched.look() == []


async def test_many_watchers_send_one_message(watching: Make, hook: Hook):
    async with watching(hook.url) as watched:
        await watched.fail(3)
        hook.held = asyncio.Event()
        looking = {asyncio.create_task(alerts.watch(watched.app)) for _ in range(8)}
        async with asyncio.timeout(60):
            while len([one for one in looking if one.done()]) < 7:
                await asyncio.wait([one for one in looking if not one.done()], return_when=asyncio.FIRST_COMPLETED)
        hook.held.set()
        assert len([one for found in await asyncio.gather(*looking) for one in found]) == 1
        assert watched.logged == [("failing", "open")]
    assert len(hook.messages) == 1


async def test_a_webhook_that_refuses_is_asked_again_until_it_takes_the_message(watching: Make, hook: Hook):
    hook.status = 500
    async with watching(hook.url) as watched:
        await watched.fail(3)
        (told,) = await alerts.watch(watched.app)
        assert told.problem is not None and "500" in told.problem
        assert await watched.look() == [("failing", "open", False)]
        hook.status = 204
        assert await watched.look() == [("failing", "open", True)]
        assert await watched.look() == []
        hook.status = 302
        await watched.later(3700)
        assert await watched.look() == [("failing", "closed", False)]
        hook.status = 200
        assert await watched.look() == [("failing", "closed", True)]
        assert await watched.look() == []
        assert watched.logged == [("failing", "open")] * 3 + [("failing", "closed")] * 2


async def test_a_webhook_that_hangs_is_left_after_its_time(watching: Make, hook: Hook, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(alerts, "WEBHOOK_SECONDS", 0.2)
    hook.held = asyncio.Event()
    async with watching(hook.url) as watched:
        await watched.fail(3)
        (told,) = await asyncio.wait_for(alerts.watch(watched.app), 60)
        assert told.problem is not None and "did not answer" in told.problem
        hook.held.set()
        monkeypatch.undo()
        assert await watched.look() == [("failing", "open", True)]


@pytest.mark.parametrize(
    "address",
    ["nonsense", "http://", "ftp://127.0.0.1/x", "http://[::1", "http://127.0.0.1:99999/", "", "http://\x00/"],
)
async def test_a_misspelt_webhook_harms_nothing(watching: Make, address: str):
    async with watching(address) as watched:
        await watched.fail(3)
        (told,) = await alerts.watch(watched.app)
        assert told.problem is not None and "PENSTOCK_ARTICLES_ALERT_WEBHOOK" in told.problem
        assert watched.logged == [("failing", "open")]


async def test_nobody_listening_is_no_error_and_no_secret_is_logged(watching: Make):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/secret-token"
    async with watching(address) as watched:
        await watched.fail(3)
        (told,) = await alerts.watch(watched.app)
        assert told.problem is not None and "secret-token" not in told.problem


async def test_what_was_never_told_ends_in_the_log_only(watching: Make, hook: Hook):
    hook.status = 500
    async with watching(hook.url) as watched:
        await watched.fail(3)
        await watched.look()
        await watched.later(3700)
        assert await watched.look() == []
        assert watched.logged == [("failing", "open"), ("failing", "closed")]
    assert len(hook.messages) == 1


async def test_trouble_that_ends_while_it_is_told_is_told_to_be_over(watching: Make, hook: Hook):
    hook.held = asyncio.Event()
    async with watching(hook.url) as watched:
        await watched.fail(3)
        telling = asyncio.create_task(alerts.watch(watched.app))
        async with asyncio.timeout(60):
            while not hook.messages:
                await asyncio.sleep(0.01)
        await watched.queue.connection.execute("delete from penstock.outcomes")
        assert await watched.look() == []  # somebody is telling it just now
        hook.held.set()
        await telling
        assert await watched.look() == [("failing", "closed", True)]
    assert [one["state"] for one in hook.messages] == ["open", "closed"]


async def test_a_teller_that_died_is_replaced(watching: Make, hook: Hook):
    async with watching(hook.url) as watched:
        await watched.fail(3)
        hook.held = asyncio.Event()
        telling = asyncio.create_task(alerts.watch(watched.app))
        async with asyncio.timeout(60):
            while not hook.messages:
                await asyncio.sleep(0.01)
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        assert await watched.look() == []
        await watched.queue.connection.execute(
            "update article_search.alerts set details = details || jsonb_build_object('sending_until', now())"
        )
        hook.held.set()
        assert await watched.look() == [("failing", "open", True)]


async def test_open_alerts_are_listed_with_their_present_figures(watching: Make):
    async with watching(None) as watched:
        await watched.fail(3)
        await watched.look()
        await watched.fail(2)
        await watched.look()
        (one,) = await alerts.opened(watched.queue.connection)
        assert (one.kind, one.state, one.details["failures"]) == ("failing", "open", 5)
        assert one.told_at is not None and one.sentence.startswith("5 embeddings failed within an hour")
