"""Looks at the runner from outside its loops, every half minute: reports, and repairs what can be. And what the runner
tells about itself with every heartbeat.

Repairs: a handler past its deadline that was not interrupted is; processors that are idle beside a waiting inbox are
woken. What only a person can mend (a long transaction that holds back vacuum) is said once per report.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.core.run import DeadlinePassed
from penstock.errors import DatabaseReadOnly
from penstock.storage import server_state
from penstock.storage.database import DATABASE_FAULTS
from penstock.storage.dialer import require_writes
from penstock.workers.adaptation import memory_bytes
from penstock.workers.beat import Beat
from penstock.workers.pool import Pool, ProcessorState

if TYPE_CHECKING:
    from penstock.workers.runner import Runner

_LONG_SNAPSHOT_SECONDS = 60.0
_BLOATED = 5.0
_MANY_DEAD_ROWS = 100_000
# Every heartbeat carries what is shown, so it is bounded.
_MOST_PER_STAGE = 20
_MOST = 100
_MOST_PROBLEMS = 10
# A key that held a task up longer ago says nothing about the pace of now.
_HELD_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One look. ``problems`` are sentences, empty when all is well; ``at_seconds`` is the database's time."""

    at_seconds: float
    stuck_processors: int
    stuck_rows: int
    woken: int
    seconds_since_poll: float
    problems: tuple[str, ...]


class Health:
    def __init__(self, runner: "Runner") -> None:
        self._runner = runner
        # What people see; None before the first look.
        self.last: Report | None = None

    async def run(self) -> None:
        beat = Beat(self._runner.settings.health_seconds)
        while True:
            await asyncio.sleep(beat.pause_seconds())
            await self.run_once()

    async def run_once(self) -> Report:
        problems: list[str] = []
        stuck = self._interrupt_stuck(problems)
        woken = self._wake_sleepers()
        silent = time.monotonic() - self._runner.discovery.polled_at
        if silent > self._longest_silence() and self._runner.coordinator.alone is None:
            problems.append(f"no claim was made for {silent:.0f} s")
        rows = await self._ask_database(problems)
        report = self.last = Report(
            at_seconds=time.time() + self._runner.discovery.clock_behind_seconds,
            stuck_processors=stuck,
            stuck_rows=rows,
            woken=woken,
            seconds_since_poll=silent,
            problems=tuple(problems),
        )
        self._runner.events.emit(
            "worker.health",
            stuck_processors=stuck,
            stuck_rows=rows,
            woken=woken,
            seconds_since_poll=round(silent, 1),
            problems=problems,
        )
        return report

    def _interrupt_stuck(self, problems: list[str]) -> int:
        """Busy beyond the deadline. The supervisor kills what does not react; a worker inside another process can
        only say so."""
        stuck = 0
        now = time.monotonic_ns()
        for pool, processor in self._runner.busy():
            over = (now - processor.deadline) / 1e9
            if over <= 1.0:
                continue
            stuck += 1
            pool.interrupt(processor, DeadlinePassed((processor.deadline - processor.started) / 1e9))
            if over > self._runner.settings.kill_grace_seconds:
                problems.append(f"{processor.name} is {over:.0f} s past its deadline and does not react")
        return stuck

    def _wake_sleepers(self) -> int:
        """No task may wait beside an idle processor; if it does, a wake-up was lost."""
        if self._runner.settings.profile == "paced":
            return 0
        waiting = sum(
            min(len(self._runner.inboxes[stage]), pool.idle_count) for stage, pool in self._runner.pools.items()
        )
        return self._runner.coordinator.run_once() if waiting or self._runner.coordinator.suspect is not None else 0

    def _longest_silence(self) -> float:
        paced = self._runner.settings.profile == "paced"
        usual = self._runner.settings.discovery_seconds if paced else self._runner.settings.poll_max_seconds
        return usual * 3 + 10.0

    async def _ask_database(self, problems: list[str]) -> int:
        try:
            async with self._runner.facilities.pool.acquire(timeout=5) as connection:
                await require_writes(connection)
                now = await server_state.pressure(connection)
                stuck = await server_state.stuck_rows(connection)
        except DATABASE_FAULTS as error:
            answers = isinstance(error, DatabaseReadOnly)
            problems.append(str(error) if answers else f"the database does not answer: {error}")
            return 0
        if now.oldest_snapshot_seconds > _LONG_SNAPSHOT_SECONDS:
            problems.append(
                f"a transaction is open for {now.oldest_snapshot_seconds:.0f} s and holds back vacuum; "
                "`penstock doctor` names it"
            )
        if now.dead_rows > _MANY_DEAD_ROWS and now.dead_rows > _BLOATED * max(now.live_rows, 1):
            problems.append(f"the queue table holds {now.dead_rows:,} dead rows; is autovacuum on?")
        if stuck:
            problems.append(f"{stuck} leased tasks belong to workers that are gone; is any worker doing upkeep?")
        return stuck


def shown(runner: "Runner") -> dict[str, Any]:
    """What the heartbeat carries: per stage processors, inbox and pace; who is busy, those in trouble and those that
    have run longest first; the last report."""
    report = runner.health.last
    return {
        "stages": {stage.label: _stage_shown(runner, stage_id) for stage_id, stage in runner.stages.items()},
        "memory_bytes": memory_bytes(),
        "polled_seconds_ago": time.monotonic() - runner.discovery.polled_at,
        "at_work": _at_work(runner.pools.values(), time.time() + runner.discovery.clock_behind_seconds),
        "settling": runner.settler.waiting,
        "stale": runner.settler.stale,
        "held": len(runner.held),
        "alone": None if (alone := runner.coordinator.alone) is None else alone.task_id,
        "health": None if report is None else {**asdict(report), "problems": list(report.problems[:_MOST_PROBLEMS])},
        "progress": {str(task): told for task, told in list(runner.facilities.reported.items())[:100]},
    }


def _stage_shown(runner: "Runner", stage: int) -> dict[str, Any]:
    """One stage in numbers; the claim comes with the reason for its size."""
    pool, pace, discovery = runner.pools[stage], runner.measured[stage], runner.discovery
    claim, held_up = discovery.decisions.get(stage), pool.running.held_up
    recently = held_up is not None and time.monotonic() - held_up[1] < _HELD_UP_SECONDS
    return {
        "processors": pool.states(),
        "inbox": len(runner.inboxes[stage]),
        "ewma_ms": pace.ewma_ms,
        "runs": pace.runs,
        "held_up_by": held_up[0] if held_up is not None and recently else None,
        "claim": None if claim is None else {"size": claim.value, "reason": claim.reason},
        **discovery.adaptation.shown(stage),
        **discovery.told_by(stage),
    }


def _at_work(pools: Iterable[Pool], now_seconds: float) -> list[dict[str, Any]]:
    """Processors that are not idle. ``since_seconds`` is in the time of ``now_seconds``.

    May be called from another thread: a processor that ends meanwhile is left out.
    """
    shown: list[dict[str, Any]] = []
    now_ns = time.monotonic_ns()
    for pool in pools:
        of_stage = []
        for processor in pool.processors:
            claimed, state, started = processor.claimed, processor.state, processor.started
            if claimed is not None and state is not ProcessorState.IDLE:
                since = now_seconds - (now_ns - started) / 1e9
                of_stage.append(
                    {
                        "name": processor.name,
                        "stage": pool.stage.label,
                        "state": state.value,
                        "task": claimed.task_id,
                        "since_seconds": round(since, 3),
                    }
                )
        shown += sorted(of_stage, key=_urgency)[:_MOST_PER_STAGE]
    return sorted(shown, key=_urgency)[:_MOST]


def _urgency(one: Mapping[str, Any]) -> tuple[bool, float]:
    return one["state"] != ProcessorState.ERROR.value, one["since_seconds"]
