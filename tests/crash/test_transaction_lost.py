"""A connection that goes away inside ``ctx.transaction()`` is the database's fault: nothing is burned."""

import asyncio
from typing import Any

import asyncpg
import pytest

from penstock import Penstock, State
from penstock.testing.ledger import Ledger
from penstock.testing.proxy import Proxy
from tests.crash.conftest import StartWorker, eventually, started
from tests.crash.crash_app import effect, ends_its_connection

_INSIDE = (
    "select pid from pg_stat_activity where datname = current_database()"
    " and application_name = 'penstock handlers' and state = 'idle in transaction'"
)


async def _history(task: Any) -> list[tuple[str, bool]]:
    return [(row["cause"], row["burned"]) for row in (await task.details())["history"]]


async def test_a_backend_that_ends_inside_the_transaction_burns_no_attempt(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    start_worker()
    only_try = effect.options(max_attempts=1)
    tasks = [await only_try.enqueue(n, seconds=0.5) for n in range(8)]

    async def all_inside() -> list[Any]:
        rows = await connection.fetch(_INSIDE)
        return rows if len(rows) == len(tasks) else []

    for row in await eventually(all_inside, what="eight handlers inside their transactions"):
        await connection.execute("select pg_terminate_backend($1)", row["pid"])
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(8))
    for task in tasks:
        assert await _history(task) == [("database", False)]
    audit = await ledger.audit(connection, [task.id for task in tasks], transactional=[task.id for task in tasks])
    assert audit.exact, audit


async def test_a_line_that_is_cut_inside_the_transaction_burns_no_attempt(
    app: Penstock, connection: asyncpg.Connection, database_url: str, ledger: Ledger, start_worker: StartWorker
) -> None:
    async with Proxy(database_url) as proxy:
        worker = start_worker(ready=False, url=proxy.url)
        await asyncio.to_thread(worker.wait_ready)
        task = await effect.options(max_attempts=1).enqueue(7, seconds=0.5)
        await started(ledger, task.id)

        async def inside() -> list[Any]:
            return list(await connection.fetch(_INSIDE))

        await eventually(inside, what="the handler inside its transaction")
        proxy.cut()
        assert await task.result(60) == 7
    assert await _history(task) == [("database", False)]
    audit = await ledger.audit(connection, [task.id], transactional=[task.id])
    assert audit.exact, audit


async def test_a_statement_that_ends_its_connection_every_time_is_a_dead_letter_in_the_end(
    app: Penstock, start_worker: StartWorker
) -> None:
    """Without a bound, a query that crashes the server would crash it for ever."""
    start_worker(rescue_limit="3")
    task = await ends_its_connection.enqueue()
    state, _, error = await task.wait(60)
    assert state is State.ERROR
    assert error is not None
    assert error["message"].startswith("The database ended ctx.transaction(): ")
    assert await _history(task) == [("database", False)] * 3


async def test_an_error_of_the_handlers_own_inside_the_transaction_burns_its_attempt(
    app: Penstock, start_worker: StartWorker
) -> None:
    start_worker()
    task = await ends_its_connection.options(max_attempts=2).enqueue(statement="select 1/0")
    with pytest.raises(Exception, match="division by zero"):
        await task.result(60)
    assert await _history(task) == [("retry", True)]
