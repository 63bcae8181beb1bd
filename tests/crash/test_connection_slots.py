"""All connection slots of the server are in use: said in a sentence, waited for, and nothing is lost."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from penstock import Penstock, embedded
from penstock.config import load
from penstock.errors import DatabaseUnavailable
from penstock.testing.ledger import Ledger
from tests.cli.conftest import Call, call, warm
from tests.crash.conftest import StartWorker, eventually, opened_on, started
from tests.crash.crash_app import effect, quick
from tests.crash.servers import folder_for_a_server, migrated_server

__all__ = ["call", "warm"]  # fixtures
_FULL = "all connection slots"
_OTHERS = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'penstock %'"


@pytest.fixture
async def narrow() -> AsyncIterator[embedded.EmbeddedServer]:
    with folder_for_a_server() as folder:
        async with migrated_server(folder, {"max_connections": "25", "fsync": "off"}) as server:
            yield server


class Crowd:
    """Takes every slot that is free, those for administrators too."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.members: list[asyncpg.Connection] = []

    async def fill(self) -> None:
        while True:
            try:
                self.members.append(await asyncpg.connect(self._url))
            except asyncpg.TooManyConnectionsError:
                return

    async def leave(self) -> None:
        members, self.members = self.members, []
        await asyncio.gather(*(member.close() for member in members))


async def test_enqueue_and_the_command_line_say_that_all_slots_are_in_use(
    narrow: embedded.EmbeddedServer, call: Call
) -> None:
    crowd = Crowd(narrow.url)
    await crowd.fill()
    app = Penstock("late", settings=load(database_url=narrow.url))
    with pytest.raises(DatabaseUnavailable, match=_FULL):
        await app.open()
    ended = await asyncio.to_thread(call, "status", database_url=narrow.url)
    assert ended.returncode == 5
    sentence, cause, following = ended.stderr.splitlines()
    assert _FULL in sentence
    assert cause.strip() == "Raise max_connections, or put PgBouncer in front."
    assert following.strip() == "next: penstock doctor"
    await crowd.leave()
    await app.open()
    await app.close()


async def test_a_worker_that_lost_its_connections_to_a_crowd_waits_for_a_slot_and_goes_on(
    narrow: embedded.EmbeddedServer, ledger: Ledger, start_worker: StartWorker
) -> None:
    worker = start_worker(url=narrow.url)
    crowd = Crowd(narrow.url)
    async with opened_on(narrow.url):
        plain = [await quick.enqueue(n, seconds=0.05) for n in range(200)]
        # One try only: an attempt burned for want of a slot would end it.
        transactional = [await effect.options(max_attempts=1).enqueue(n, seconds=0.05) for n in range(40)]
        await started(ledger, plain[5].id)
    await crowd.fill()
    await crowd.members[0].execute(_OTHERS)
    await crowd.fill()

    async def said() -> bool:
        return _FULL in worker.text()

    await eventually(said, what="the sentence about the slots")
    await crowd.leave()
    async with opened_on(narrow.url) as app:
        assert await asyncio.gather(*(task.result(60) for task in plain)) == list(range(200))
        assert await asyncio.gather(*(task.result(60) for task in transactional)) == list(range(40))
        async with app.connection() as connection:
            ids = [task.id for task in (*plain, *transactional)]
            audit = await ledger.audit(connection, ids, transactional=[task.id for task in transactional])
    assert audit.exact, audit
    assert worker.alive
