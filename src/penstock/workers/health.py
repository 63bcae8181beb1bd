"""Looks at the runner from outside its loops, every half minute: reports, and repairs what can be.

Repairs: a handler past its deadline that was not interrupted is; processors that are idle beside a waiting inbox are
woken. What only a person can mend (a long transaction that holds back vacuum) is said once per report.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.config import Settings
from penstock.core.run import DeadlinePassed
from penstock.errors import DatabaseReadOnly
from penstock.events import Events
from penstock.storage import server_state
from penstock.storage.database import DATABASE_FAULTS
from penstock.storage.dialer import require_writes
from penstock.workers.beat import Beat
from penstock.workers.coordinator import Coordinator
from penstock.workers.discovery import Discovery
from penstock.workers.facilities import Facilities
from penstock.workers.inbox import Inbox
from penstock.workers.pool import Pool

_LONG_SNAPSHOT_SECONDS = 60.0
_BLOATED = 5.0
_MANY_DEAD_ROWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One look. ``problems`` are sentences, empty when all is well; ``at_seconds`` is the database's time."""

    at_seconds: float
    stuck_processors: int
    stuck_rows: int
    woken: int
    seconds_since_poll: float
    problems: tuple[str, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Health:
    settings: Settings
    pools: Mapping[int, Pool]
    inboxes: Mapping[int, Inbox]
    coordinator: Coordinator
    discovery: Discovery
    events: Events
    facilities: Facilities
    # What people see; None before the first look.
    last: Report | None = None

    async def run(self) -> None:
        beat = Beat(self.settings.health_seconds)
        while True:
            await asyncio.sleep(beat.pause_seconds())
            await self.run_once()

    async def run_once(self) -> Report:
        problems: list[str] = []
        stuck = self._interrupt_stuck(problems)
        woken = self._wake_sleepers()
        silent = time.monotonic() - self.discovery.polled_at
        if silent > self._longest_silence() and self.coordinator.alone is None:
            problems.append(f"no claim was made for {silent:.0f} s")
        rows = await self._ask_database(problems)
        report = self.last = Report(
            at_seconds=time.time() + self.discovery.clock_behind_seconds,
            stuck_processors=stuck,
            stuck_rows=rows,
            woken=woken,
            seconds_since_poll=silent,
            problems=tuple(problems),
        )
        self.events.emit(
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
        for pool in self.pools.values():
            for processor in pool.busy:
                over = (now - processor.deadline) / 1e9
                if over <= 1.0:
                    continue
                stuck += 1
                pool.interrupt(processor, DeadlinePassed((processor.deadline - processor.started) / 1e9))
                if over > self.settings.kill_grace_seconds:
                    problems.append(f"{processor.name} is {over:.0f} s past its deadline and does not react")
        return stuck

    def _wake_sleepers(self) -> int:
        """No task may wait beside an idle processor; if it does, a wake-up was lost."""
        if self.settings.profile == "paced":
            return 0
        waiting = sum(min(len(self.inboxes[stage]), pool.idle_count) for stage, pool in self.pools.items())
        return self.coordinator.run_once() if waiting or self.coordinator.suspect is not None else 0

    def _longest_silence(self) -> float:
        paced = self.settings.profile == "paced"
        usual = self.settings.discovery_seconds if paced else self.settings.poll_max_seconds
        return usual * 3 + 10.0

    async def _ask_database(self, problems: list[str]) -> int:
        try:
            async with self.facilities.pool.acquire(timeout=5) as connection:
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
