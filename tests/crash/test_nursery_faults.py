"""The process that forks the runners is killed, frozen or starved; and user code that does not suit a fork."""

import errno
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import asyncpg
import orjson
import psutil
import pytest

from penstock import State
from penstock.config import load
from penstock.events import Event, Events
from penstock.failpoints import Failpoints
from penstock.fleet import nursery
from penstock.fleet.heartbeat import Answer, Heart
from penstock.fleet.process import Blueprint
from penstock.fleet.supervisor import Supervisor
from penstock.storage.workers import Heartbeat
from penstock.testing.processes import WorkerTree
from penstock.workers.slots import Slots
from tests.crash.conftest import QUICK_LEASE, ROOT, eventually

_APP = """
import asyncio, multiprocessing, os, subprocess, sys, threading, time
from pathlib import Path
from penstock import Context, Penstock, RetryPolicy

app = Penstock("nursery")
_AT_ONCE = RetryPolicy(base_seconds=0.01, jitter=0)


@app.task(retry=_AT_ONCE)
async def patient(gate: str, started: str) -> int:
    with open(started, "a") as file:
        file.write(f"{os.getpid()}\\n")
    while not Path(gate).exists():
        await asyncio.sleep(0.02)
    return os.getpid()


@app.task(retry=_AT_ONCE, pool=1)
def leaves_with(code: int) -> None:
    os._exit(code)


@app.task(pool=1, timeout=60)
def ends_a_program() -> int:
    program = subprocess.Popen(["sleep", "30"])
    program.terminate()
    try:
        return program.wait(60)
    finally:
        program.kill()


def _sleep(begun: object) -> None:
    begun.set()
    time.sleep(30)


@app.task(pool=1, timeout=60)
def ends_a_fork() -> int | None:
    forking = multiprocessing.get_context("fork")
    begun = forking.Event()
    process = forking.Process(target=_sleep, args=(begun,))
    process.start()
    begun.wait(60)
    process.terminate()
    process.join(60)
    try:
        return process.exitcode
    finally:
        process.kill()


@app.task()
async def surroundings() -> dict[str, object]:
    return {"cwd": os.getcwd(), "variables": sorted(key for key in os.environ if key.startswith("PENSTOCK_S"))}
"""

Start = Callable[..., WorkerTree]


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts trees that serve a module of the user's; ``more`` is code at its end."""
    trees: list[WorkerTree] = []

    def begin(*, more: str = "", ready: bool = True, **settings: str) -> WorkerTree:
        (tmp_path / "users_module.py").write_text(_APP + more)
        environment = {**QUICK_LEASE, **{f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}}
        tree = WorkerTree(
            "users_module:app",
            url=database_url,
            log=tmp_path / f"worker-{len(trees)}.log",
            environment={**environment, "TMPDIR": str(tmp_path)},
            path=[str(ROOT), str(tmp_path)],
        )
        trees.append(tree)
        if ready:
            tree.wait_ready()
        return tree

    yield begin
    for tree in trees:
        tree.close()


class Asks:
    """Enqueues by name: the module is the worker's alone."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection = connection

    async def enqueue(self, name: str, arguments: str = "{}") -> int:
        task: int = await self.connection.fetchval(
            "select task_id from penstock.enqueue($1, $2::text::jsonb)", name, arguments
        )
        return task

    async def ended(self, task: int, seconds: float = 60.0) -> dict[str, object]:
        async def outcome() -> object:
            return await self.connection.fetchrow(
                "select status, attempts, result::text as result, error::text as error from penstock.outcomes"
                " where task_id = $1",
                task,
            )

        found = await eventually(outcome, seconds=seconds, what=f"the end of task {task}")
        return dict(found)

    async def history(self, task: int) -> list[tuple[str, bool]]:
        rows = await self.connection.fetch(
            "select cause, burned from penstock.attempts where task_id = $1 order by at", task
        )
        return [(row["cause"], row["burned"]) for row in rows]


@pytest.fixture
def asks(connection: asyncpg.Connection) -> Asks:
    return Asks(connection)


def nursery_of(tree: WorkerTree) -> psutil.Process:
    (found,) = [
        child
        for child in psutil.Process(tree.pid).children()
        if "penstock.fleet.nursery" in child.cmdline() and child.status() != psutil.STATUS_ZOMBIE
    ]
    return found


class Gate:
    """A task that runs until the gate opens."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self._gate, self._started = folder / name, folder / f"{name}.started"

    @property
    def arguments(self) -> str:
        return f'{{"gate": "{self._gate}", "started": "{self._started}"}}'

    def open(self) -> None:
        self._gate.touch()

    def pids(self) -> list[int]:
        return [int(line) for line in self._started.read_text().split()] if self._started.exists() else []

    async def started(self, times: int = 1, seconds: float = 60.0) -> None:
        async def enough() -> bool:
            return len(self.pids()) >= times

        await eventually(enough, seconds=seconds, what=f"start {times}")


async def test_a_killed_nursery_is_no_fault_of_the_tasks_that_ran(start: Start, asks: Asks, tmp_path: Path) -> None:
    tree, gate = start(), Gate(tmp_path)
    task = await asks.enqueue("patient", gate.arguments)
    for times in (1, 2, 3, 4):
        await gate.started(times)
        if times < 4:
            nursery_of(tree).kill()
    gate.open()
    assert (await asks.ended(task))["status"] == State.DONE
    assert [burned for _, burned in await asks.history(task)] == [False] * 3


async def test_a_frozen_nursery_does_not_keep_a_dead_runners_tasks(start: Start, asks: Asks, tmp_path: Path) -> None:
    tree, gate = start(), Gate(tmp_path)
    task = await asks.enqueue("patient", gate.arguments)
    await gate.started()
    nursery_of(tree).suspend()
    tree.kill_runner()
    await gate.started(2)
    gate.open()
    assert (await asks.ended(task))["status"] == State.DONE


async def test_no_exit_code_keeps_poison_from_its_end(start: Start, asks: Asks) -> None:
    start()
    task = await asks.enqueue("leaves_with", '{"code": 75}')
    outcome = await asks.ended(task)
    assert outcome["status"] == State.ERROR
    assert await asks.history(task) == [("crash", True)] * 3


async def test_a_handler_can_end_the_programs_it_started(start: Start, asks: Asks) -> None:
    start()
    outcome = await asks.ended(await asks.enqueue("ends_a_program"))
    assert outcome["result"] == str(-signal.SIGTERM), outcome


@pytest.mark.parametrize("failure", ['sys.exit("leaving")', "raise KeyboardInterrupt"])
async def test_a_runner_that_cannot_start_ends_although_threads_of_the_module_go_on(start: Start, failure: str) -> None:
    more = f"threading.Thread(target=time.sleep, args=(600,)).start()\n{failure}\n"
    tree = start(more=more, ready=False)

    async def mourned() -> bool:
        return tree.events("worker.died") >= 1 or not tree.alive

    await eventually(mourned, what="the end of the runner")


async def test_a_handler_can_end_the_processes_it_forked(start: Start, asks: Asks) -> None:
    start()
    outcome = await asks.ended(await asks.enqueue("ends_a_fork"))
    assert outcome["result"] == str(-signal.SIGTERM), outcome


def test_a_fork_that_fails_does_not_end_the_nursery(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    told, heard = socket.socketpair()
    channel, other = socket.socketpair()
    with told, heard, other:
        nursery._bear(b'{"worker": 7}', channel.detach(), told, ())
        assert orjson.loads(heard.recv(1000)) == {"unborn": 7, "error": errno.EAGAIN}
        assert other.recv(1) == b"", "the channel of the runner that was not born is closed"


async def test_no_slot_file_is_left_when_all_are_killed_during_the_users_import(start: Start, tmp_path: Path) -> None:
    tree = start(more='Path(__file__).with_name("importing").touch()\ntime.sleep(600)\n', ready=False)

    async def importing() -> bool:
        return (tmp_path / "importing").exists()

    await eventually(importing, what="the import of the user's module")
    tree.kill()
    assert list(tmp_path.glob("penstock-slots-*")) == []


async def test_a_runner_that_cannot_be_started_is_told_and_tried_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Event] = []
    settings = load(database_url=database_url)
    supervisor = Supervisor(
        settings=settings,
        blueprint=Blueprint(app="nowhere:app", url=database_url, only=(), settings={}),
        events=Events([told.append]),
        failpoints=Failpoints(),
        duties=[],
    )

    async def refuse(_: nursery.Nursery) -> None:
        raise ChildProcessError("a runner could not be forked: no memory")

    monkeypatch.setattr(nursery.Nursery, "ready", refuse)
    assert await supervisor.watch_once() == 0
    assert [(one.name, one.data["error"]) for one in told] == [
        ("worker.unborn", "a runner could not be forked: no memory")
    ]
    assert await supervisor.watch_once() == 0, "not at once again"
    assert len(told) == 1


async def test_a_runner_that_is_buried_while_a_heartbeat_is_under_way_does_not_end_the_supervisor(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer counts for a runner whose slots are closed by then."""
    supervisor = Supervisor(
        settings=load(database_url=database_url),
        blueprint=Blueprint(app="nowhere:app", url=database_url, only=(), settings={}),
        events=Events([]),
        failpoints=Failpoints(),
        duties=[],
    )
    dead, living = _Runner(worker=1), _Runner(worker=2)
    supervisor.runners = [dead, living]  # type: ignore[list-item]

    async def answered_after_a_burial(_: Heart, beats: Sequence[Heartbeat]) -> Answer:
        assert [beat.worker for beat in beats] == [1, 2]
        dead.exit_code = -9
        dead.slots.close(remove=True)
        return Answer(alive=frozenset({1, 2}), stop=(), wait=())

    monkeypatch.setattr(Heart, "run_once", answered_after_a_burial)
    living.slots.renewed(time.monotonic() - 1)
    before = living.slots.safe()
    await supervisor.beat_once()
    assert (before, living.slots.safe()) == (False, True), "the other one has its lease"
    living.slots.close(remove=True)


class _Runner:
    """As much of a runner as a heartbeat sees."""

    def __init__(self, *, worker: int) -> None:
        self.worker = worker
        self.exit_code: int | None = None
        self.slots = Slots.create(4)
        self.status: dict[str, object] = {}
