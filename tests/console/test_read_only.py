"""A read-only server: every write is a 503 with the reason, and nothing is left to restart afterwards."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import pytest

from tests.console.conftest import Service

_REASON = "The database is read-only"
Switch = Callable[[str], Awaitable[None]]


@pytest.fixture
async def read_only(connection: asyncpg.Connection) -> Switch:
    """``on``: the connections that are open end, new ones only take reads. ``off``: those that are open stay so."""
    name = await connection.fetchval("select current_database()")
    others = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()"

    async def switch(to: str) -> None:
        await connection.execute("set default_transaction_read_only = off")
        await connection.execute(f'alter database "{name}" set default_transaction_read_only = {to}')
        if to == "on":
            await connection.fetch(others, name)

    return switch


async def _submit(service: Service) -> Any:
    client = await service.client("ann")
    return await client.post("/api/jobs", json={"pipeline": "add", "items": [{"left": 1, "right": 2}]})


async def _until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Without a cancellation, which would drop the connection that is being looked at."""
    deadline = time.monotonic() + 60
    while not (answer := await condition()):
        assert time.monotonic() < deadline, "it did not come true"
        await asyncio.sleep(0.02)
    return answer


async def test_writes_are_a_503_while_the_server_only_takes_reads_and_work_again_afterwards(
    service: Service, read_only: Switch
) -> None:
    async def status(wanted: int) -> Any:
        answer = await _submit(service)
        return answer if answer.status_code == wanted else None

    assert (await _submit(service)).status_code == 202
    await read_only("on")
    refused = await _until(lambda: status(503))
    while not refused.json()["detail"].startswith(_REASON):  # a connection that was cut may be met first
        refused = await _submit(service)
        assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    await read_only("off")
    await _until(lambda: status(202))
    async with AsyncExitStack() as stack:
        kept = [await stack.enter_async_context(service.app.connection()) for _ in range(10)]
        assert {await one.fetchval("show transaction_read_only") for one in kept} == {"off"}


async def _asked(service: Service) -> tuple[Any, str]:
    anybody = await service.client(None)
    return await anybody.get("/readyz"), (await anybody.get("/metrics")).text


async def test_a_server_that_only_takes_reads_is_not_ready_and_says_so(service: Service, read_only: Switch) -> None:
    ready, metrics = await _asked(service)
    assert (ready.status_code, "penstock_database_up 1.0" in metrics) == (200, True)
    await read_only("on")

    async def told() -> bool:
        ready, _ = await _asked(service)
        return ready.status_code == 503 and ready.json()["reason"].startswith(f"database: {_REASON}")

    await _until(told)
    ready, metrics = await _asked(service)
    assert int(ready.headers["retry-after"]) > 0
    assert "penstock_database_up 0.0" in metrics
    await read_only("off")

    async def again() -> bool:
        ready, metrics = await _asked(service)
        return ready.status_code == 200 and "penstock_database_up 1.0" in metrics

    await _until(again)


async def test_a_connection_that_turned_read_only_since_it_was_opened_is_not_ready(service: Service) -> None:
    """As after `alter system set default_transaction_read_only`: the connection itself is as good as before."""

    async def turn() -> None:
        async with service.app.connection() as connection:
            await connection.execute("set default_transaction_read_only = on")

    anybody = await service.client(None)
    await turn()
    ready = await anybody.get("/readyz")
    assert (ready.status_code, ready.json()["reason"].startswith(f"database: {_REASON}")) == (503, True)
    await turn()
    assert "penstock_database_up 0.0" in (await anybody.get("/metrics")).text
