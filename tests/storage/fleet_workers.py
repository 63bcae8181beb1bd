"""Hypothesis drives the real statements: workers that claim, settle, die, and come back as zombies.

The machine keeps what each simulated worker believes. Before every settle it reads whether that belief is still
true, and the statement has to come to the same conclusion. Time passes by UPDATE, nothing sleeps.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from penstock.events import Events
from penstock.lifecycle import State
from penstock.model import Claimed, Release
from penstock.storage import counts, lanes, queue, workers
from penstock.storage.queue import LaneClaim
from penstock.storage.workers import Heartbeat
from penstock.upkeep.duties import Rescue
from tests.storage.world import CRASH_LIMIT, LEASE_SECONDS, RESCUE_LIMIT, World, build, empty

LANES = ("default", "other")
ANY = st.integers(0, 1000)
RARELY = st.integers(0, 5).map(lambda number: number == 5)
PROCESSES = 3
RESCUE = Rescue(events=Events(), crash_limit=CRASH_LIMIT, rescue_limit=RESCUE_LIMIT)
MOST_TASKS = 5


@dataclass(slots=True)
class Process:
    """One simulated runner. ``dead``: the table says so; a zombie does not know it yet.

    ``held`` is what it believes to hold. A settle whose answer is lost leaves the task there, so that the process
    settles it again, later and maybe otherwise.
    """

    worker: int
    held: list[Claimed] = field(default_factory=list)
    dead: bool = False


class Workers(RuleBasedStateMachine):
    """Rules of work and death. People, upkeep and the promises are in ``fleet_machine``."""

    def __init__(self, runner: asyncio.Runner, connection: asyncpg.Connection) -> None:
        super().__init__()
        self._runner = runner
        self.connection = connection
        self.world: World = self.do(self._built())
        self.processes = [self._started() for _ in range(PROCESSES)]
        self.read: list[tuple[int, list[queue.Lease]]] = []  # a rescuer's list, not yet written
        self.newest: dict[int, int] = {}  # task → highest lease number seen

    def do(self, work: Any) -> Any:
        return self._runner.run(work)

    def _started(self) -> Process:
        return Process(self.do(self.world.worker()))

    def _starts_again(self, process: Process) -> None:
        """Under a new id, as every start."""
        self.processes[self.processes.index(process)] = self._started()

    async def _built(self) -> World:
        await empty(self.connection)
        return await build(self.connection, stage_names=("first", "second"))

    def _process(self, number: int) -> Process:
        return self.processes[number % len(self.processes)]

    def _pick(self, number: int) -> tuple[Process, Claimed]:
        pairs = [(process, one) for process in self.processes for one in process.held]
        return pairs[number % len(pairs)]

    def unfinished(self) -> int:
        rows: int = self.do(self.connection.fetchval("select count(*) from penstock.queue"))
        return rows

    def _holding(self) -> bool:
        return any(process.held for process in self.processes)

    async def _current(self, worker: int, claimed: Claimed) -> bool:
        return await self._leased(claimed.task_id, worker, claimed.lease)

    async def _leased(self, task_id: int, worker: int, lease: int) -> bool:
        row = await self.world.row(task_id)
        return row is not None and (row["worker"], row["lease"]) == (worker, lease)

    def _settled(self, process: Process, claimed: Claimed, lost: bool) -> None:
        if not lost:
            process.held.remove(claimed)

    # ---------------------------------------------------------------- work

    @initialize()
    def some_work(self) -> None:
        for lane in LANES:
            self.enqueue(lane, None, False)

    @precondition(lambda self: self.unfinished() < MOST_TASKS)
    @rule(lane=st.sampled_from(LANES), key=st.sampled_from([None, None, "k"]), late=RARELY)
    def enqueue(self, lane: str, key: str | None, late: bool) -> None:
        self.do(self.world.put(lane=lane, unique_key=key, delay_seconds=60.0 if late else None))

    @rule(number=ANY, most=st.integers(1, 3), lost=RARELY, due=st.booleans())
    def claim(self, number: int, most: int, lost: bool, due: bool) -> None:
        """A dead worker may claim as well: it has not heard yet. A lost answer leaves a lease nobody knows of."""
        if due:
            self.time_passes()
        process = self._process(number)
        claimed = self.do(self._claim(process.worker, most))
        for one in claimed:
            assert one.lease > self.newest.get(one.task_id, 0), "lease numbers grow per task"
            self.newest[one.task_id] = one.lease
        if not lost:
            process.held += claimed

    @rule(number=ANY)
    def claim_all(self, number: int) -> None:
        self.claim(number, MOST_TASKS, False, True)

    @precondition(_holding)
    @rule(number=ANY)
    def claim_again_what_it_gave_back(self, number: int) -> None:
        """The answer to the hand-back is lost, so the process believes in both leases."""
        process, claimed = self._pick(number)
        self.do(self._give_back(process.worker, [claimed], cause="hand back"))
        self.claim(self.processes.index(process), MOST_TASKS, False, True)

    async def _claim(self, worker: int, most: int) -> list[Claimed]:
        found, _ = await lanes.served(self.connection, [self.world.pipeline])
        waiting = "select task_id from penstock.queue where worker is null and run_at <= now()"
        free = {row["task_id"] for row in await self.connection.fetch(waiting)}
        wanted = [LaneClaim(stage, lane.id, most) for stage in self.world.stages for lane in found]
        taken = await queue.claim(self.connection, wanted, most, worker) if wanted else []
        assert {one.task_id for one in taken} <= free
        for one in taken:
            lane = await self.connection.fetchrow("select * from penstock.lanes where id = $1", one.lane)
            assert lane is not None
            assert (lane["paused_at"], lane["cancelled_at"]) == (None, None)
        return taken

    @precondition(_holding)
    @rule(number=ANY, lost=st.booleans(), state=st.sampled_from([State.DONE, State.ERROR, State.SKIPPED]))
    def finish(self, number: int, lost: bool, state: State) -> None:
        process, claimed = self._pick(number)
        current = self.do(self._current(process.worker, claimed))
        assert self.do(self.world.finish(process.worker, [claimed], state)) == current
        self._settled(process, claimed, lost)
        if current:
            outcome = self.do(self.world.outcome(claimed.task_id))
            assert (outcome["lease"], outcome["worker"], outcome["status"]) == (claimed.lease, process.worker, state)

    @precondition(_holding)
    @rule(number=ANY, lost=st.booleans())
    def advance(self, number: int, lost: bool) -> None:
        process, claimed = self._pick(number)
        if claimed.stage == self.world.stages[0]:
            current = self.do(self._current(process.worker, claimed))
            assert self.do(self.world.advance(process.worker, claimed)) == current
            self._settled(process, claimed, lost)

    @precondition(_holding)
    @rule(number=ANY, how=st.sampled_from(["retry", "snooze", "hand back"]), lost=st.booleans())
    def release(self, number: int, how: str, lost: bool) -> None:
        process, claimed = self._pick(number)
        current = self.do(self._current(process.worker, claimed))
        delay = {"retry": 1.0, "snooze": 30.0, "hand back": None}[how]
        work = self.world.release(process.worker, [claimed], cause=how, burned=how == "retry", delay_seconds=delay)
        assert (claimed.task_id in self.do(work)) == current
        self._settled(process, claimed, lost)

    @rule()
    def time_passes(self) -> None:
        self.do(self.connection.execute("update penstock.queue set run_at = now()"))
        self.do(counts.fold(self.connection, 3))

    # ---------------------------------------------------------------- death

    @rule(number=ANY, running=ANY)
    def heartbeat(self, number: int, running: int) -> None:
        process = self._process(number)
        named = [one.lease for one in process.held[: running % 3]]
        beats = [Heartbeat(worker=process.worker, running=named, status={})]
        alive = process.worker in self.do(workers.heartbeat(self.connection, beats, LEASE_SECONDS))
        assert alive is not process.dead
        if process.dead:
            self._starts_again(process)  # it has heard

    @rule(number=ANY)
    def lease_ends(self, number: int) -> None:
        process = self._process(number)
        self.do(self.world.end_lease(process.worker))
        dead = self.do(workers.declare_dead(self.connection))
        assert dead == ([] if process.dead else [process.worker])
        process.dead = True

    @rule(number=ANY, running=ANY)
    def crash(self, number: int, running: int) -> None:
        """The supervisor sees its runner die, and knows from the slots what had started."""
        process = self._process(number)
        self._starts_again(process)
        self.do(workers.declare_dead_by_supervisor(self.connection, process.worker))
        started = process.held[: running % 3]
        self.do(self._give_back(process.worker, started, cause="crash", burned=True, crashed=True))
        self.do(self._give_back(process.worker, process.held[len(started) :], cause=None))

    async def _give_back(self, worker: int, claimed: list[Claimed], **changes: Any) -> None:
        current = {one.task_id for one in claimed if await self._current(worker, one)}
        assert set(await self.world.release(worker, claimed, **changes)) == current

    @rule()
    def rescue(self) -> None:
        self.do(RESCUE.run_once(self.connection))
        assert self.do(queue.holders_gone(self.connection)) == []

    @rule()
    def rescuer_reads(self) -> None:
        for worker in self.do(queue.holders_gone(self.connection)):
            self.read.append((worker, self.do(queue.leases_of(self.connection, worker))))

    @precondition(lambda self: self.read)
    @rule(number=ANY)
    def rescuer_writes(self, number: int) -> None:
        """Long after it read: meanwhile a zombie may have settled, or another rescuer been quicker."""
        worker, leases = self.read.pop(number % len(self.read))
        self.do(self._write(worker, leases))

    async def _write(self, worker: int, leases: list[queue.Lease]) -> None:
        current = {one.task_id for one in leases if await self._leased(one.task_id, worker, one.lease)}
        orders = [
            Release(task_id=one.task_id, lease=one.lease, stage=one.stage, cause="rescue", rescued=True)
            for one in leases
        ]
        released = await queue.release(
            self.connection, worker, orders, crash_limit=CRASH_LIMIT, rescue_limit=RESCUE_LIMIT
        )
        assert set(released) == current
