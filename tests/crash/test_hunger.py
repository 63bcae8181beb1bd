"""Memory and file descriptors used up by a handler: its task ends with a clear error or a crash, the others go on."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from penstock import Penstock, State
from penstock.config import load
from penstock.core.background import BackgroundTask
from penstock.testing import ledger_table
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from tests.crash import hungry_app
from tests.crash.conftest import QUICK_LEASE, ROOT, eventually, started
from tests.crash.hungry_app import (
    asks_for_too_much,
    asks_for_too_much_alone,
    breaks_the_runner,
    forgets_a_task,
    hoards_files,
    hoards_memory,
    quick,
    starves_a_callback,
)

_CUT = (
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
    " and application_name in ('penstock claim', 'penstock settle', 'penstock listen', 'penstock handlers')"
)


@pytest.fixture
async def app(database_url: str, connection: asyncpg.Connection) -> AsyncIterator[Penstock]:
    await ledger_table.create(connection)
    app = hungry_app.app
    app.use(load(database_url=database_url), app.events)
    await app.open()
    yield app
    await app.close()


@pytest.fixture
def worker(app: Penstock, database_url: str, tmp_path: Path, ledger: Ledger) -> Iterator[WorkerTree]:
    tree = WorkerTree(
        "tests.crash.hungry_app:app",
        url=database_url,
        log=tmp_path / "worker.log",
        # Long: these tests count the deaths of runners, and on a busy machine a short one may lapse.
        environment={**QUICK_LEASE, "PENSTOCK_LEASE_SECONDS": "60", **ledger.environment},
        path=[str(ROOT)],
    )
    tree.wait_ready()
    yield tree
    tree.close()


@pytest.mark.parametrize("greedy", [asks_for_too_much, asks_for_too_much_alone], ids=["thread", "isolated"])
async def test_a_handler_that_asks_for_too_much_memory_ends_with_that_error_and_the_runner_lives(
    greedy: BackgroundTask[[], int], worker: WorkerTree
) -> None:
    neighbours = [await quick.enqueue(n) for n in range(20)]
    task = await greedy.enqueue()
    state, _, error = await task.wait(60)
    assert state is State.ERROR
    assert error is not None
    assert error["type"] == "MemoryError"
    history = [(row["cause"], row["burned"]) for row in (await task.details())["history"]]
    assert history == [("retry", True)]
    assert await asyncio.gather(*(one.result(60) for one in neighbours)) == list(range(20))
    assert worker.events("worker.died") == 0


async def test_a_runner_without_memory_is_replaced_and_what_ran_in_it_has_crashed(
    worker: WorkerTree, connection: asyncpg.Connection, ledger: Ledger
) -> None:
    """Given back as if nothing had been, a task that takes all memory would do so for ever."""
    task = await hoards_memory.enqueue(seconds=3.0)
    await started(ledger, task.id)
    # One after the other: 400 that wait for one of a few connections are as slow as the machine, and have a deadline.
    neighbours = [await quick.enqueue(n) for n in range(400)]
    await task.wait(60)
    history = (await task.details())["history"]
    # Who meets the end of the memory first is chance: the runner, which ends or is killed by it, or the handler.
    assert {(row["cause"], row["burned"]) for row in history} <= {("crash", True), ("retry", True)}, history
    died = [row["error"]["message"] for row in history if row["cause"] == "crash"]
    assert all(text.startswith(("the process died: out of memory", "the process died: signal")) for text in died), died
    assert worker.events("worker.died") == len(died)
    assert await asyncio.gather(*(one.result(60) for one in neighbours)) == list(range(400))
    audit = await ledger.audit(connection, [one.id for one in (task, *neighbours)])
    assert audit.exact, audit
    assert worker.alive


@pytest.mark.parametrize("error", ["memory", "system"])
async def test_a_runner_that_finds_no_memory_in_a_callback_ends_at_once_instead_of_waiting_for_an_answer(
    error: str, worker: WorkerTree
) -> None:
    """Such an error reaches no loop of the runner: its connection would stand still until the command's timeout."""
    task = await starves_a_callback.enqueue(error)
    state, _, last = await task.wait(60)
    assert state is State.ERROR
    assert last is not None
    assert last["message"] == "the process died: out of memory"
    assert worker.events("worker.died") == 3


async def test_a_task_that_a_handler_started_and_forgot_may_find_no_memory_without_ending_the_runner(
    worker: WorkerTree,
) -> None:
    assert await (await forgets_a_task.enqueue()).result(60) == "fine"
    assert await (await quick.enqueue(1)).result(60) == 1
    assert worker.events("worker.died") == 0


async def test_a_task_that_breaks_its_runner_every_time_is_given_back_a_limited_number_of_times(
    worker: WorkerTree,
) -> None:
    task = await breaks_the_runner.enqueue()
    state, _, _ = await task.wait(60)
    assert state is State.ERROR
    causes = [(row["cause"], row["burned"]) for row in (await task.details())["history"]]
    assert set(causes) == {("rescue", False)}, causes
    assert worker.events("worker.died") == load().rescue_limit


async def test_file_descriptors_used_up_in_a_runner_cost_the_task_that_took_them(
    worker: WorkerTree, connection: asyncpg.Connection, ledger: Ledger, tmp_path: Path
) -> None:
    task = await hoards_files.enqueue(str(tmp_path / "gate"))
    await started(ledger, task.id)
    # Its connections are cut as well, so that the runner needs descriptors that it does not get.
    await connection.fetch(_CUT)
    neighbours = [await quick.enqueue(n) for n in range(50)]

    async def starved() -> bool:
        return "Too many open files" in worker.text()

    await eventually(starved, what="a connection that finds no descriptor")
    (tmp_path / "gate").touch()
    state, _, error = await task.wait(60)
    assert state is State.ERROR
    assert error is not None
    assert "Too many open files" in error["message"]
    assert await asyncio.gather(*(one.result(60) for one in neighbours)) == list(range(50))
    audit = await ledger.audit(connection, [one.id for one in (task, *neighbours)])
    assert audit.exact, audit
    assert worker.alive
