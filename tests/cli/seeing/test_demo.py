"""`penstock demo --remove`: nothing of the demonstration stays, and nothing of anybody else goes."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.events import Events
from penstock.storage import schedules
from penstock.testing import drain
from penstock.workers.inprocess import worker
from penstock_demo.shop import app as demonstration
from penstock_demo.shop import import_order, print_label, send_receipt
from tests.cli.seeing.command_line import CommandLine

TABLES = ("tasks", "queue", "outcomes", "attempts", "checkpoints", "jobs", "lanes", "counts", "stages", "schedules")


@pytest.fixture
async def shown(database_url: str) -> AsyncIterator[Penstock]:
    demonstration.use(load(database_url=database_url), Events())
    async with demonstration:
        yield demonstration


async def left(connection: asyncpg.Connection) -> dict[str, int]:
    counts = {one: await connection.fetchval(f"select count(*) from penstock.{one}") for one in TABLES}
    return {one: count for one, count in counts.items() if count}


async def played(shown: Penstock, connection: asyncpg.Connection) -> None:
    """Some ended, some did not, and the schedule has fired."""
    await send_receipt.enqueue_many([{"order": n} for n in range(20)], name="demo: receipts")
    await import_order.enqueue_many([{"line": "oak-table x 2"}, {"line": "nonsense"}], name="demo: orders")
    await print_label.enqueue_many([{"order": 1}], name="demo: labels")
    await schedules.fire_now(connection, "heartbeat")
    await drain(shown, only=["send_receipt", "import_order", "heartbeat"])
    await schedules.fire_now(connection, "heartbeat")


async def test_after_remove_nothing_of_the_demonstration_is_left(
    penstock: CommandLine, shown: Penstock, connection: asyncpg.Connection
) -> None:
    await played(shown, connection)
    assert set(await left(connection)) >= set(TABLES) - {"attempts"}
    removed = await penstock.json("demo", "--remove")
    assert removed["schedules"] == ["heartbeat"]
    assert removed["pipelines"] == sorted(shown.pipelines)
    assert removed["jobs"] == 3
    assert removed["tasks"] == 20 + 2 + 1 + 2
    assert removed["kept"] == []
    assert await left(connection) == {}
    assert (await penstock.json("demo", "--remove"))["pipelines"] == []


async def test_somebody_elses_tasks_of_the_same_name_stay_with_their_stages(
    penstock: CommandLine, shown: Penstock, connection: asyncpg.Connection
) -> None:
    await played(shown, connection)
    mine = await shown.enqueue("send_receipt", {"order": 1})
    removed = await penstock("demo", "--remove")
    assert "Kept, because they hold tasks that are not the demonstration's: send_receipt." in removed.stderr
    assert await connection.fetch("select id from penstock.tasks") == [(mine.id,)]
    assert await connection.fetchval("select count(*) from penstock.task_states") == 1


async def test_stages_and_schedule_stay_while_somebody_serves_them(
    penstock: CommandLine, shown: Penstock, connection: asyncpg.Connection
) -> None:
    async with worker(shown):
        told = await penstock("demo", "--remove")
    assert "stay while" in told.stderr
    assert "and run this again" in told.stderr
    assert (await left(connection))["schedules"] == 1


async def test_a_declared_schedule_says_who_declares_it_and_what_to_do(penstock: CommandLine, shown: Penstock) -> None:
    refused = await penstock("schedules", "delete", "heartbeat", "--yes", code=2)
    assert "declared in code by application 'demo'" in refused.stderr
    assert "Remove it there" in refused.stderr
    assert "`penstock schedules pause heartbeat`" in refused.stderr


async def test_without_a_worker_the_demonstration_leaves_nothing_behind(
    penstock: CommandLine, connection: asyncpg.Connection
) -> None:
    refused = await penstock("demo", code=4)
    assert "next: penstock up" in refused.stderr
    assert await left(connection) == {}
