"""A worker dies at every point of a task's way. Nothing is lost, nothing settled twice, and it runs again in time."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from penstock import Penstock, State
from penstock.testing.ledger import Ledger
from tests.crash.conftest import StartWorker, eventually, leased, started
from tests.crash.crash_app import effect, outside_effect, patient, quick


@pytest.mark.parametrize("point", ["before_claim", "after_claim_commit", "before_settle", "after_settle_commit"])
async def test_tasks_survive_runners_that_die_at(
    point: str, app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    # Enough attempts and crashes: how often the same task is met is chance, and not what this is about.
    tasks = [await quick.options(max_attempts=90).enqueue(n) for n in range(60)]
    start_worker(ready=False, failpoints=f"{point}:kill:0.5", crash_limit="90", rescue_limit="90")
    start_worker(crash_limit="90", rescue_limit="90")
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(60))
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit


async def test_a_task_killed_mid_handler_runs_again_without_waiting_for_the_lease(
    app: Penstock, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    worker = start_worker(lease_seconds="60", heartbeat_seconds="3")
    task = await patient.enqueue(str(tmp_path / "gate"))
    await started(ledger, task.id)
    worker.kill_runner()
    await started(ledger, task.id, times=2)
    (tmp_path / "gate").touch()
    assert await task.result(60) == "opened"
    history = (await task.details())["history"]
    assert [(row["cause"], row["burned"]) for row in history] == [("crash", True)]
    assert history[0]["error"]["message"] == "the process died: signal SIGKILL"


async def test_what_only_waited_in_the_inbox_burns_nothing_when_its_runner_dies(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    worker = start_worker(pool_size="1")
    tasks = [await patient.enqueue(str(gate)) for _ in range(8)]
    await started(ledger, tasks[0].id)

    async def all_leased() -> bool:
        return await leased(connection) == len(tasks)

    await eventually(all_leased, what="one runs, the others are in the inbox")
    worker.kill_runner()
    gate.touch()
    for task in tasks:
        assert await task.result(60) == "opened"
    burned = [sum(row["burned"] for row in (await task.details())["history"]) for task in tasks]
    assert burned == [1, 0, 0, 0, 0, 0, 0, 0]
    assert [(await task.details())["attempts"] for task in tasks] == [2, 1, 1, 1, 1, 1, 1, 1]


async def test_an_effect_before_the_death_is_seen_by_the_run_after_it(
    app: Penstock, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    start_worker()
    task = await outside_effect.enqueue(str(tmp_path / "effect"))
    assert await task.result(60) == "was done already"
    assert len(ledger.starts()[task.id]) == 2


async def test_a_settlement_whose_answer_is_lost_counts_once(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    worker = start_worker(failpoints="after_settle_commit:drop_connection:0.3")
    tasks = [await quick.enqueue(n) for n in range(200)]
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(200))
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit
    assert audit.extra_runs == 0, "a lost answer must not run anything again"
    assert worker.events("tasks.stale") == 0, "its own settlement is not a stale one"


async def test_a_claim_whose_answer_is_lost_is_given_back(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    start_worker(failpoints="after_claim_commit:drop_connection:0.3")
    tasks = [await quick.enqueue(n) for n in range(50)]
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(50))
    assert await leased(connection) == 0


async def test_a_killed_machine_costs_a_lease(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    first = start_worker()
    task = await patient.enqueue(str(tmp_path / "gate"))
    await started(ledger, task.id)
    start_worker()
    first.kill()
    await started(ledger, task.id, times=2)
    (tmp_path / "gate").touch()
    assert await task.result(60) == "opened"
    audit = await ledger.audit(connection, [task.id])
    assert audit.exact, audit


async def test_runners_do_not_outlive_their_supervisor(
    app: Penstock, ledger: Ledger, start_worker: StartWorker, tmp_path: Path
) -> None:
    first = start_worker(cold=True)
    task = await patient.enqueue(str(tmp_path / "gate"))
    await started(ledger, task.id)
    (runner,) = first.runners()
    assert not [file for file in runner.open_files() if "penstock-slots" in file.path and Path(file.path).exists()]
    first.kill_supervisor()

    async def gone() -> bool:
        return not runner.is_running()

    await eventually(gone, what="the end of the orphaned runner")
    start_worker()
    await started(ledger, task.id, times=2)
    (tmp_path / "gate").touch()
    assert await task.result(60) == "opened"


async def test_a_fleet_killed_as_a_whole_goes_on_after_its_restart(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    fleet = [start_worker(ready=False), start_worker(ready=False)]
    for tree in fleet:
        tree.wait_ready()
    tasks = [await quick.enqueue(n, seconds=0.05) for n in range(300)]

    async def some_are_done() -> bool:
        return await connection.fetchval("select count(*) from penstock.outcomes") >= 30

    await eventually(some_are_done)
    for tree in fleet:
        tree.kill()
    start_worker()
    assert await asyncio.gather(*(task.result(60) for task in tasks)) == list(range(300))
    audit = await ledger.audit(connection, [task.id for task in tasks])
    assert audit.exact, audit


async def test_an_effect_in_the_tasks_transaction_happens_once_whoever_is_killed_when(
    app: Penstock, connection: asyncpg.Connection, ledger: Ledger, start_worker: StartWorker
) -> None:
    start_worker(ready=False, failpoints="during_transaction:kill:0.1")
    steady = start_worker()
    tasks = [await effect.enqueue(n, seconds=0.01) for n in range(150)]
    for count in (20, 60):

        async def reached(count: int = count) -> bool:
            return await connection.fetchval("select count(*) from penstock.outcomes") >= count

        await eventually(reached, what=f"the end of {count} tasks")
        steady.kill_runner()
    states = [(await task.wait(60))[0] for task in tasks]
    assert set(states) <= {State.DONE, State.ERROR}
    ids = [task.id for task in tasks]
    audit = await ledger.audit(connection, ids, transactional=ids)
    assert audit.exact, audit
