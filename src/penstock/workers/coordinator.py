"""Gives waiting tasks to idle processors.

By default at once, whenever a processor is free. A stage with a throttle starts at most so many tasks per cycle of a
few seconds; in the paced profile every stage has one. A task under which a process died before, or machines again and
again, runs alone in its runner, so that if it kills again, it is the only suspect.
"""

import asyncio
from collections.abc import Iterable, Mapping

from penstock.config import Settings
from penstock.core.stage import Stage
from penstock.model import Claimed
from penstock.workers.inbox import Inbox
from penstock.workers.pool import Pool


def throttles(settings: Settings, stages: Iterable[Stage]) -> dict[int, int]:
    """Most starts per cycle, by stage. The paced profile has one for every stage, the other for those that ask."""
    paced = settings.profile == "paced"
    return {
        stage.id: stage.definition.throttle or settings.assignments_per_cycle
        for stage in stages
        if paced or stage.definition.throttle is not None
    }


class Coordinator:
    def __init__(
        self,
        *,
        pools: Mapping[int, Pool],
        inboxes: Mapping[int, Inbox],
        per_cycle: Mapping[int, int] | None = None,
        rescue_limit: int = 10,
    ) -> None:
        """``pools``, ``inboxes`` by stage id, in the order the stages are served. ``per_cycle``: the throttled stages
        and how many of each may start before the next cycle. ``rescue_limit``: halfway to it a task is a suspect."""
        self._pools = pools
        self._inboxes = inboxes
        self._suspect_rescues = max(1, rescue_limit // 2)
        self._per_cycle = dict(per_cycle or {})
        self._allowance = dict.fromkeys(self._per_cycle, 0)
        self._suspect: tuple[Pool, Claimed] | None = None
        self._running_alone: Claimed | None = None
        # Set when a suspect keeps the others from starting, or more came in while it does.
        self.held_up = asyncio.Event()
        self._stopped = False
        self.running = 0

    def cycle(self) -> int:
        """A new cycle begins: throttled stages may start their number again. Returns how many tasks may start."""
        self._allowance.update(self._per_cycle)
        return self.run_once()

    def run_once(self) -> int:
        """Stages in order, each up to what is left of its allowance. Returns how many tasks may start."""
        if self._suspect is not None:
            # Nobody may start before it. While others run, the end of the last one wakes it.
            return self._suspect[0].wake(1) if self.running == 0 else 0
        total = 0
        for stage, pool in self._pools.items():
            count = min(len(self._inboxes[stage]), pool.idle_count)
            if stage in self._allowance:
                count = min(count, self._allowance[stage])
            pool.wake(count)
            total += count
        return total

    def stop(self) -> None:
        """No further handler starts."""
        self._stopped = True

    def next_for(self, pool: Pool) -> Claimed | None:
        """What a free processor of the pool should run now, if anything."""
        if self._stopped or self._running_alone is not None:
            return None
        if self._suspect is not None:
            return self._start_suspect(pool)
        stage = pool.stage.id
        if self._allowance and self._allowance.get(stage, 1) <= 0:
            return None
        claimed = self._inboxes[stage].take()
        if claimed is None:
            return None
        if stage in self._allowance:
            self._allowance[stage] -= 1
        if (claimed.crashes or claimed.rescues) and self.suspects(claimed):
            self._suspect = (pool, claimed)
            self.held_up.set()
            return self._start_suspect(pool)
        self.running += 1
        return claimed

    def suspects(self, claimed: Claimed) -> bool:
        """Whether it may be what killed a process or machines."""
        return claimed.crashes > 0 or claimed.rescues >= self._suspect_rescues

    def ended(self) -> bool:
        """A run has ended. Returns whether that was the one that kept all others from starting."""
        self.running -= 1
        if self._running_alone is not None:
            self._running_alone = None
            self._wake_all()
            return True
        if self._suspect is not None and self.running == 0:
            self._suspect[0].wake(1)
        return False

    @property
    def alone(self) -> Claimed | None:
        """The task that runs alone, or waits to: nothing else starts before its end."""
        return self.suspect or self._running_alone

    @property
    def suspect(self) -> Claimed | None:
        """The task that waits to run alone."""
        return None if self._suspect is None else self._suspect[1]

    def withdraw_suspect(self) -> Claimed | None:
        """For handing it back; the others, who waited for it, go on."""
        suspect, self._suspect = self.suspect, None
        if suspect is not None and not self._stopped:
            self._wake_all()
        return suspect

    def _start_suspect(self, pool: Pool) -> Claimed | None:
        assert self._suspect is not None
        wanted_pool, claimed = self._suspect
        if self.running > 0 or wanted_pool is not pool:
            return None
        self._suspect = None
        self._running_alone = claimed
        self.running += 1
        return claimed

    def _wake_all(self) -> None:
        for stage, pool in self._pools.items():
            pool.wake(len(self._inboxes[stage]))
