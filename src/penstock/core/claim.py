"""Takes work, lane by lane (``turns``), within the exact limits of the fleet."""

import time
from collections.abc import Callable, Mapping, Set

from penstock.core.turns import Turns
from penstock.failpoints import Failpoints
from penstock.model import Claimed, LaneView
from penstock.storage import queue
from penstock.storage.database import Link
from penstock.storage.queue import LaneClaim
from penstock.storage.stages import Limits


class Claimer:
    """Owns one connection."""

    def __init__(
        self,
        *,
        link: Link,
        worker: int,
        failpoints: Failpoints,
        pipelines: Mapping[int, str],
        job: int | None = None,
        least_age_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``pipelines``, ``job``: as for :class:`Turns`. ``least_age_seconds``: rows that changed or became due since
        then are left alone."""
        self._link = link
        self._worker = worker
        self._failpoints = failpoints
        self._least_age_seconds = least_age_seconds
        self._announced: frozenset[int] = frozenset()
        self.turns = Turns(pipelines=pipelines, job=job, clock=clock)

    async def claim(self, room: Mapping[int, int], announced: Set[int] = frozenset()) -> list[Claimed]:
        """Up to ``room[stage]`` tasks of each stage. Of the stages in ``announced``, which are claimed by message, only
        what has a limit of its own: a message could not wait for a place to become free."""
        self._failpoints.hit("before_claim", self._link.drop)
        if self._announced != announced:
            self._announced = frozenset(announced)
            self.turns.look_again()
        await self.turns.read_lanes(self._link, self._serves)
        claimed: list[Claimed] = []
        for look in self.turns.looks(room):
            async with self._link.guarded() as connection:
                if self.turns.limited:
                    look.wanted, got = await self._claim_within_limits(connection, look.wanted, look.room)
                else:
                    got = await self._claim_rows(connection, look.wanted, look.room)
            look.got = got
            claimed += got
        if claimed:
            self._failpoints.hit("after_claim_commit", self._link.drop)
        return claimed

    def _serves(self, stage: Limits, lane: LaneView) -> bool:
        return stage.max_running is not None or lane.max_running is not None or stage.id not in self._announced

    async def _claim_rows(self, connection: queue.Connection, wanted: list[LaneClaim], room: int) -> list[Claimed]:
        """With a least age in two steps: the rows are looked up, then claimed by id, where one of many wins."""
        if not self._least_age_seconds:
            return await queue.claim(connection, wanted, room, self._worker)
        ripe = await queue.ripe(connection, wanted, room, self._least_age_seconds)
        if not ripe:
            return []
        claimed = await queue.claim_by_id(
            connection,
            ripe,
            self._worker,
            stages=sorted({one.stage for one in wanted}),
            least_age_seconds=self._least_age_seconds,
        )
        return sorted(claimed, key=lambda one: (one.run_at, one.task_id))

    async def _claim_within_limits(
        self, connection: queue.Connection, wanted: list[LaneClaim], room: int
    ) -> tuple[list[LaneClaim], list[Claimed]]:
        """Exact fleet-wide limits: claimers of a limited stage or lane take turns, and each counts first.

        Returns what it really asked for, so that a lane at its limit is not taken for an empty one."""
        asked_stages = sorted({w.stage for w in wanted} & self.turns.limited_stages)
        asked_lanes = sorted({w.lane for w in wanted} & self.turns.limited_lanes)
        if not asked_stages and not asked_lanes:
            return wanted, await self._claim_rows(connection, wanted, room)
        async with connection.transaction():
            stage_limits = await queue.lock_limited_stages(connection, asked_stages) if asked_stages else {}
            lane_limits = await queue.lock_limited_lanes(connection, asked_lanes) if asked_lanes else {}
            leased = await queue.count_leased(connection, self._stages_beside({w.stage for w in wanted}))
            stage_left = {stage: limit - _sum(leased, stage=stage) for stage, limit in stage_limits.items()}
            lane_left = _left_in_lanes(lane_limits, leased)
            leader = {lane: head for lane, (head, _) in lane_limits.items()}
            asked: list[LaneClaim] = []
            got: list[Claimed] = []
            # One after the other: a place kept free for a lane that turns out to be empty would be lost to the next.
            for w in wanted:
                head = leader.get(w.lane, 0)
                quota = min(w.quota, stage_left.get(w.stage, w.quota), lane_left.get(head, w.quota))
                if quota <= 0:
                    continue
                asked.append(LaneClaim(w.stage, w.lane, quota, w.after))
                taken = await self._claim_rows(connection, asked[-1:], quota)
                got += taken
                if w.stage in stage_left:
                    stage_left[w.stage] -= len(taken)
                if head in lane_left:
                    lane_left[head] -= len(taken)
            return asked, got

    def _stages_beside(self, wanted: set[int]) -> list[int]:
        """All stages of the pipelines these belong to."""
        pipelines = {self.turns.pipelines[stage] for stage in wanted}
        return sorted(stage for stage, pipeline in self.turns.pipeline_of.items() if pipeline in pipelines)


def _left_in_lanes(
    limits: Mapping[int, tuple[int, int | None]], leased: Mapping[tuple[int, int], int]
) -> dict[int, int]:
    """Free places by leader: the lanes that belong together share one limit."""
    left: dict[int, int] = {}
    for head, limit in limits.values():
        if limit is not None:
            left[head] = min(limit, left.get(head, limit))
    for lane, (head, _) in limits.items():
        if head in left:
            left[head] -= _sum(leased, lane=lane)
    return left


def _sum(leased: Mapping[tuple[int, int], int], *, stage: int | None = None, lane: int | None = None) -> int:
    return sum(
        count
        for (in_stage, in_lane), count in leased.items()
        if (stage is None or in_stage == stage) and (lane is None or in_lane == lane)
    )
