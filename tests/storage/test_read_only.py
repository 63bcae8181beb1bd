"""A connection that answers "read-only" is as useless as a lost one: it is dropped, and the next one is looked at."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.errors import DatabaseReadOnly
from penstock.storage import database, dialer
from penstock.storage.dialer import Dialer

_TURN_READ_ONLY = "set default_transaction_read_only = on"
_WRITE = "create table written ()"


async def test_a_link_leaves_a_connection_that_answers_read_only(database_url: str) -> None:
    link = database.Link(load(database_url=database_url), database_url, purpose="test")
    await (await link.connection()).execute(_TURN_READ_ONLY)
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        async with link.guarded() as connection:
            await connection.execute(_WRITE)
    async with link.guarded() as connection:
        await connection.execute(_WRITE)
    await link.close()


async def test_an_application_leaves_a_connection_that_answers_read_only(database_url: str) -> None:
    async with Penstock("moved", settings=load(database_url=database_url)) as app:
        async with app.connection() as connection:
            await connection.execute(_TURN_READ_ONLY)
        with pytest.raises(DatabaseReadOnly):
            async with app.connection() as connection:
                await connection.execute(_WRITE)
        async with app.connection() as connection:
            await connection.execute(_WRITE)


async def test_a_server_that_only_takes_reads_is_left_when_the_connection_opens(
    database_url: str, connection: asyncpg.Connection
) -> None:
    name = await connection.fetchval("select current_database()")
    await connection.execute(f'alter database "{name}" set default_transaction_read_only = on')
    settings = load(database_url=database_url)
    for opening in (
        lambda: database.connect(settings, database_url, purpose="test"),
        lambda: database.pool(settings, database_url, purpose="test", size=1),
    ):
        with pytest.raises(DatabaseReadOnly):
            await opening()


async def test_a_link_to_a_server_that_only_takes_reads_asks_again_ever_more_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[float] = []
    now = 0.0

    async def connect(url: str, **options: Any) -> Any:
        opened.append(now)
        return _Server(in_hot_standby="on", answer="on")

    monkeypatch.setattr(dialer.asyncpg, "connect", connect)
    dialling = Dialer(clock=lambda: now)
    for step in range(100):
        now = step / 10
        with pytest.raises(DatabaseReadOnly):
            await dialling.dial("postgresql://standby/x", timeout=1)
    pauses = [round(later - earlier, 1) for earlier, later in pairwise(opened)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.1, 1.0), "it goes on asking once a second"


class _Server:
    """Says one thing of itself when it is reached, and answers another when it is asked."""

    def __init__(self, *, in_hot_standby: str, answer: str) -> None:
        self._said = SimpleNamespace(
            in_hot_standby=in_hot_standby, default_transaction_read_only="off", register_data_types=lambda types: None
        )
        self._answer = answer
        self.asked = 0
        self.terminated = False

    def get_server_version(self) -> Any:
        return SimpleNamespace(major=18, minor=0, micro=0)

    def get_settings(self) -> Any:
        return self._said

    async def fetchval(self, statement: str, **options: Any) -> str:
        self.asked += 1
        return self._answer

    def terminate(self) -> None:
        self.terminated = True


@pytest.mark.parametrize(
    ("said", "answer", "asked", "refused"),
    [("off", "off", 0, False), ("on", "on", 1, True), ("on", "off", 1, False)],
    ids=["a primary costs no question", "a standby", "a pooler that repeats what was true once"],
)
async def test_what_a_server_says_of_itself_is_checked_only_where_it_speaks_against_it(
    said: str, answer: str, asked: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = _Server(in_hot_standby=said, answer=answer)

    async def connect(url: str, **options: Any) -> Any:
        return server

    monkeypatch.setattr(dialer.asyncpg, "connect", connect)
    if refused:
        with pytest.raises(DatabaseReadOnly):
            await Dialer().dial("postgresql://server/x", timeout=1)
    else:
        assert await Dialer().dial("postgresql://server/x", timeout=1) is server
    assert (server.asked, server.terminated) == (asked, refused)
