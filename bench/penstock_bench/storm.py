"""`penstock bench storm`: real worker processes are killed and frozen while work goes on; then the books are checked.

Lease and heartbeat are the defaults, so the recovery it measures is what a user gets. The plan of faults comes from a
seed; the double ledger says what really ran.
"""

import asyncio
import random
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import asyncpg
import psutil

from penstock import embedded
from penstock.config import load
from penstock.errors import DatabaseError
from penstock.extension import discovered
from penstock.storage import workers
from penstock.storage.migrate import migrate, migrations_of
from penstock.testing import ledger_table, storm_app
from penstock.testing.fault_plan import FREEZES, Fault, Kind, Wishes, plan
from penstock.testing.ledger import Audit, Ledger, recovery_seconds
from penstock.testing.processes import WorkerTree
from penstock_bench.storm_options import StormOptions

_LEASE_SECONDS = 10.0
_FROZEN_SECONDS = 1.3 * _LEASE_SECONDS
# After the last fault: a lease, a rescue, and a little.
_SETTLES_SECONDS = _LEASE_SECONDS + 3
_SHORTEST_WINDOW_SECONDS = 31.0
_TICK_SECONDS = 0.005
_AT_ONCE = 3
_EFFECT_SHARE = 0.1
_LEFT_SERVING = 2
_LATEST_SECONDS = 20.0


_FAILPOINTS = (
    "after_claim_commit:kill:0.002,before_settle:drop_connection:0.01",
    "after_settle_commit:drop_connection:0.01,before_claim:kill:0.0005",
    "during_transaction:kill:0.002,after_run:kill:0.0003",
)


async def storm(options: StormOptions) -> dict[str, Any]:
    """Run it on an embedded server of its own; returns the figures."""
    began = time.monotonic()
    folder = _private_folder()
    try:
        server = await asyncio.to_thread(embedded.acquire, folder / "home")
        try:
            return await _Storm(options, server, folder, began).run()
        finally:
            await asyncio.to_thread(server.release)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


class _Storm:
    def __init__(self, options: StormOptions, server: embedded.EmbeddedServer, folder: Path, began: float) -> None:
        self._options = options
        self._server = server
        self._folder = folder
        self._began = began
        self.seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
        self._ledger = Ledger(folder / "ledger")
        self._trees: list[WorkerTree] = []
        self._buried: list[WorkerTree] = []
        # Trees that a fault has chosen and not yet let go.
        self._hit: set[WorkerTree] = set()
        self._accepted: dict[int, str] = {}
        # (fault, when it happened, what was held)
        self._kills: list[tuple[Fault, float, set[tuple[int, int]]]] = []
        self._zombies = 0
        self._missed: list[Fault] = []
        self._choosing = asyncio.Lock()
        self._asking: Any = None
        self._asked = asyncio.Lock()

    async def run(self) -> dict[str, Any]:
        try:
            async with await self._connect() as connection:
                await migrate(connection, migrations_of(discovered()))
                await ledger_table.create(connection)
            app = storm_app.app
            app.use(load(database_url=self._server.url), app.events)
            async with app:
                await self._start()
                window = max(self._left() - _SETTLES_SECONDS, _SHORTEST_WINDOW_SECONDS)
                await self._blow(window)
                await self._drain()
            async with await self._connect() as connection:
                audit = await self._ledger.audit(
                    connection,
                    list(self._accepted),
                    transactional=[task for task, kind in self._accepted.items() if kind == "effect"],
                )
            return self._figures(audit)
        finally:
            for tree in (*self._trees, *self._buried):
                tree.close()
            if self._asking is not None:
                self._asking.terminate()

    def _left(self) -> float:
        return self._options.seconds - (time.monotonic() - self._began)

    async def _connect(self) -> Any:
        return _Opened(await asyncpg.connect(self._server.url))

    # ---------------------------------------------------------------- the fleet

    async def _start(self) -> None:
        self._options.tell(f"seed {self.seed}; starting {self._options.trees} workers")
        self._trees = [self._tree(number) for number in range(self._options.trees)]
        async with await self._connect() as connection:
            wanted = len(self._trees) * self._options.runners
            while sum(bool(row["stages"]) for row in await workers.listing(connection)) < wanted:
                dead = [tree for tree in self._trees if not tree.alive]
                if dead:
                    raise RuntimeError(f"a worker did not start:\n{dead[0].tail()}")
                await asyncio.sleep(0.1)

    def _tree(self, number: int) -> WorkerTree:
        environment = {
            **self._ledger.environment,
            "PENSTOCK_LOG_LEVEL": "warning",
            "PENSTOCK_RUNNERS": str(self._options.runners),
        }
        if self._options.chaos and number < len(_FAILPOINTS):
            environment["PENSTOCK_FAILPOINTS"] = _FAILPOINTS[number]
        log = self._folder / f"worker-{number}.log"
        return WorkerTree("penstock.testing.storm_app:app", url=self._server.url, log=log, environment=environment)

    # ---------------------------------------------------------------- the storm

    async def _blow(self, window: float) -> None:
        faults = plan(
            self.seed,
            Wishes(
                kills=self._options.kills,
                # A frozen tree is as many zombies as it has runners.
                zombies=-(-self._options.zombies // self._options.runners),
                supervisors_freeze=self._options.chaos,
                trees=self._options.trees,
                window_seconds=window,
                frozen_seconds=_FROZEN_SECONDS,
                database_faults=self._options.chaos,
            ),
        )
        self._options.tell(f"{len(faults)} faults over {window:.0f} s beside {self._options.tasks:,} tasks")
        started = time.monotonic()
        enqueueing = asyncio.create_task(self._trickle(window))
        running: list[asyncio.Task[None]] = []
        for fault in faults:
            await asyncio.sleep(max(0.0, started + fault.at_seconds - time.monotonic()))
            running.append(asyncio.create_task(self._cause(fault)))
        await asyncio.gather(enqueueing, *running)

    async def _trickle(self, window: float) -> None:
        """A steady stream of single tasks, over the whole window."""
        chance = random.Random(self.seed + 1)
        started, sent = time.monotonic(), 0
        while sent < self._options.tasks:
            due = int(self._options.tasks * min((time.monotonic() - started) / window, 1.0)) + 1
            if sent >= due:
                await asyncio.sleep(_TICK_SECONDS)
                continue
            # A few at a time, also when it is late: a trickle, not a series of bursts.
            batch = range(sent, min(due, sent + _AT_ONCE, self._options.tasks))
            await asyncio.gather(*(self._enqueue(n, chance.random() < _EFFECT_SHARE) for n in batch))
            sent = batch.stop

    async def _enqueue(self, n: int, with_effect: bool) -> None:
        """Accepted is what the engine said yes to; the key makes a repeated try the same task."""
        task = storm_app.effect if with_effect else storm_app.short
        while True:
            try:
                stored = await task.options(idempotency_key=f"storm-{n}").enqueue(n)
            except DatabaseError:
                await asyncio.sleep(0.1)
                continue
            self._accepted[stored.id] = task.name
            return

    async def _cause(self, fault: Fault) -> None:
        match fault.kind:
            case Kind.KILL_RUNNER | Kind.KILL_TREE:
                await self._kill(fault)
            case Kind.FREEZE_TREE | Kind.FREEZE_SUPERVISOR:
                await self._freeze(fault)
            case Kind.TERMINATE_BACKENDS:
                await self._terminate_backends(fault.for_seconds)
            case Kind.KILL_LISTENERS:
                await self._on_server(ledger_table.terminate_listeners)
            case Kind.RESTART_FAST | Kind.RESTART_IMMEDIATE:
                await asyncio.to_thread(self._restart, fault.kind)

    async def _kill(self, fault: Fault) -> None:
        tree = await self._victim(fault)
        if tree is None:
            self._missed.append(fault)
            return
        held = await self._held(tree)
        killed_at = time.time()
        if fault.kind is Kind.KILL_TREE:
            tree.kill()
            held |= await self._held(tree)
            self._buried.append(tree)
            number = self._trees.index(tree)
            self._trees[number] = self._tree(number)
        else:
            tree.kill_runner()
        self._kills.append((fault, killed_at, held))
        await asyncio.sleep(0.5)  # until its supervisor has noticed
        self._hit.discard(tree)

    async def _victim(self, fault: Fault) -> WorkerTree | None:
        """The planned one, or the next that serves: killing what has not started yet shows nothing. Waits while it
        would leave too few, so on a slow machine the faults come later, not closer together."""
        deadline = time.monotonic() + _LATEST_SECONDS
        while time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            # One at a time: those who wait would otherwise load the machine that they wait for.
            async with self._choosing:
                serving = await self._serving()
                spared = _LEFT_SERVING if deadline - time.monotonic() > _LATEST_SECONDS / 2 else 0
                if (tree := self._able(fault, serving, spared)) is not None:
                    self._hit.add(tree)
                    return tree
        return None

    def _able(self, fault: Fault, serving: Counter[int], spared: int) -> WorkerTree | None:
        """``spared``: so many runners have to be left."""
        turned = self._trees[fault.victim :] + self._trees[: fault.victim]
        able = [tree for tree in turned if tree.pid in serving and tree not in self._hit]
        if fault.kind in FREEZES:
            # As many zombies as possible: a tree whose runners all serve.
            able = [tree for tree in able if serving[tree.pid] == self._options.runners]
            return able[0] if able else None
        if not able:
            return None
        taken = 1 if fault.kind is Kind.KILL_RUNNER else serving[able[0].pid]
        return able[0] if sum(serving[tree.pid] for tree in able) - taken >= spared else None

    async def _serving(self) -> Counter[int]:
        """How many runners take tasks now, by the pid of their supervisor."""
        found: Counter[int] = Counter()

        async def ask(connection: Any) -> None:
            rows = await workers.listing(connection)
            found.update(row["pid"] for row in rows if row["live"] and row["stages"])

        await self._on_server(ask)
        return found

    async def _held(self, tree: WorkerTree) -> set[tuple[int, int]]:
        found: set[tuple[int, int]] = set()

        async def ask(connection: Any) -> None:
            found.update(await ledger_table.held_by(connection, tree.pid))

        await self._on_server(ask)
        return found

    async def _freeze(self, fault: Fault) -> None:
        tree = await self._victim(fault)
        if tree is None:
            self._missed.append(fault)
            return
        zombies = len(tree.runners())
        if fault.kind is Kind.FREEZE_TREE:
            tree.freeze()
        else:
            tree.freeze_supervisor()
        await asyncio.sleep(fault.for_seconds)
        tree.thaw()
        self._hit.discard(tree)
        self._zombies += zombies

    async def _terminate_backends(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self._on_server(ledger_table.terminate_one)
            await asyncio.sleep(0.2)

    def _restart(self, kind: Kind) -> None:
        pid = int((self._server.home / "data" / "postmaster.pid").read_text().split()[0])
        postmaster = psutil.Process(pid)
        postmaster.send_signal(signal.SIGINT if kind is Kind.RESTART_FAST else signal.SIGQUIT)
        with suppress(psutil.NoSuchProcess):
            postmaster.wait(30)
        self._server.ensure_running()

    async def _on_server(self, ask: Callable[[Any], Awaitable[Any]]) -> None:
        """On a connection of its own, which the terminated backends are not chosen from."""
        async with self._asked:
            try:
                if self._asking is None or self._asking.is_closed():
                    self._asking = await asyncpg.connect(self._server.url)
                await ask(self._asking)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                if self._asking is not None:
                    self._asking.terminate()

    async def _drain(self) -> None:
        """Until every accepted task has ended, or a rescue from the last fault would have been done."""
        self._options.tell(f"{len(self._accepted):,} tasks accepted; waiting for the last of them")
        end = time.monotonic() + max(self._left(), _SETTLES_SECONDS + 2)
        async with await self._connect() as connection:
            while time.monotonic() < end:
                if not await ledger_table.unfinished(connection, list(self._accepted)):
                    return
                await asyncio.sleep(0.1)

    # ---------------------------------------------------------------- figures

    def _figures(self, audit: Audit) -> dict[str, Any]:
        starts = self._ledger.starts()
        recovered: dict[Kind, list[float]] = {Kind.KILL_RUNNER: [], Kind.KILL_TREE: []}
        for fault, killed_at, held in self._kills:
            recovered[fault.kind] += recovery_seconds(starts, held, killed_at).values()
        everything = sorted(value for values in recovered.values() for value in values)
        faults = len(self._kills) + self._zombies + self._deaths_by_failpoint()
        return {
            "tasks": audit.tasks,
            "kills": len(self._kills),
            "zombies": self._zombies,
            "lost": len(audit.lost) + len(audit.unfinished),
            "settled_twice": len(audit.settled_twice) + audit.miscounted,
            "extra_runs_per_fault": round(audit.extra_runs / max(faults, 1), 3),
            "recovery_p99_seconds": _percentile(everything, 0.99),
            "seed": self.seed,
            "seconds": round(time.monotonic() - self._began, 1),
            "extra_runs": audit.extra_runs,
            "recovery": {
                kind.value: {
                    "samples": len(values),
                    "median_seconds": round(statistics.median(values), 2) if values else None,
                    "longest_seconds": round(max(values), 2) if values else None,
                }
                for kind, values in recovered.items()
            },
            "faults": faults,
            "not_done": [asdict(fault) for fault in self._missed],
            "unwitnessed": len(audit.unwitnessed),
            "uncaused": len(audit.uncaused),
            "unfinished": audit.unfinished[:20],
            "lost_tasks": audit.lost[:20],
            "settled_twice_tasks": audit.settled_twice[:20],
            "states": audit.states,
            "folder": str(self._folder) if self._options.keep else None,
        }

    def _deaths_by_failpoint(self) -> int:
        """Runners that died without the storm having killed them; only where failpoints are set."""
        if not self._options.chaos:
            return 0
        deaths = sum(
            path.read_text(errors="replace").count("worker.died") for path in self._folder.glob("worker-*.log")
        )
        return max(0, deaths - sum(fault.kind is Kind.KILL_RUNNER for fault, _, _ in self._kills))


class _Opened:
    """``async with`` for a connection that has to be awaited first."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def __aenter__(self) -> Any:
        return self._connection

    async def __aexit__(self, *error: object) -> None:
        with suppress(Exception):
            await self._connection.close(timeout=2)


def _private_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="penstock-storm-", dir="/tmp"))
    folder.chmod(0o711)  # as root, the server's user has to pass through
    return folder


def _percentile(ordered: list[float], share: float) -> float | None:
    if not ordered:
        return None
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 2)
