"""Takes work, lane by lane (``turns``), within the exact limits of the fleet."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.engine.turns import Turns
from penstock.failpoints import Failpoints
from penstock.model import Claimed, LaneView
from penstock.storage import paced, queue
from penstock.storage.queue import Wanted
from penstock.storage.stages import Limits


class Claimer(Turns[Claimed]):
    """Used by discovery only. Stages that are served by messages are left alone, but for what has a limit of its own:
    a message could not wait for a place to become free."""

    def __init__(
        self,
        *,
        worker: int,
        failpoints: Failpoints,
        least_age_seconds: float = 0.0,
        **turns: Any,
    ) -> None:
        """``least_age_seconds``: rows that changed or became due since then are left alone."""
        super().__init__(**turns)
        self._worker = worker
        self._failpoints = failpoints
        self._least_age_seconds = least_age_seconds
        # Whether messages announce the rows of a stage now.
        self.by_message: Callable[[int], bool] = lambda stage: False

    async def claim(self, room: Mapping[int, int]) -> list[Claimed]:
        """Up to ``room[stage]`` tasks of each stage."""
        self._failpoints.hit("before_claim", self._link.drop)
        claimed = await self.take(room)
        if claimed:
            self._failpoints.hit("after_claim_commit", self._link.drop)
        return claimed

    def _serves(self, stage: Limits, lane: LaneView) -> bool:
        if lane.paused:
            return False
        return stage.max_running is not None or lane.max_running is not None or not self.by_message(stage.id)

    async def _rows(
        self, connection: queue.Connection, wanted: list[Wanted], room: int
    ) -> tuple[list[Wanted], list[Claimed]]:
        if self.limited:
            return await self._claim_within_limits(connection, wanted, room)
        return wanted, await self._claim_rows(connection, wanted, room)

    async def _claim_rows(self, connection: queue.Connection, wanted: list[Wanted], room: int) -> list[Claimed]:
        """With a least age in two steps: the rows are looked up, then claimed by id, where one of many wins."""
        if not self._least_age_seconds:
            return await queue.claim(connection, wanted, room, self._worker)
        ripe = await paced.ripe(connection, wanted, room, self._least_age_seconds)
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
        self, connection: queue.Connection, wanted: list[Wanted], room: int
    ) -> tuple[list[Wanted], list[Claimed]]:
        """Exact fleet-wide limits: claimers of a limited stage or lane take turns, and each counts first.

        Returns what it really asked for, so that a lane at its limit is not taken for an empty one."""
        asked_stages = sorted({w.stage for w in wanted} & self._limited_stages)
        asked_lanes = sorted({w.lane for w in wanted} & self._limited_lanes)
        if not asked_stages and not asked_lanes:
            return wanted, await self._claim_rows(connection, wanted, room)
        async with connection.transaction():
            stage_limits = await queue.lock_limited_stages(connection, asked_stages) if asked_stages else {}
            lane_limits = await queue.lock_limited_lanes(connection, asked_lanes) if asked_lanes else {}
            leased = await queue.count_leased(connection, self._stages_beside({w.stage for w in wanted}))
            stage_left = {stage: limit - _sum(leased, stage=stage) for stage, limit in stage_limits.items()}
            lane_left = _left_in_lanes(lane_limits, leased)
            leader = {lane: head for lane, (head, _) in lane_limits.items()}
            asked: list[Wanted] = []
            got: list[Claimed] = []
            # One after the other: a place kept free for a lane that turns out to be empty would be lost to the next.
            for w in wanted:
                head = leader.get(w.lane, 0)
                quota = min(w.quota, stage_left.get(w.stage, w.quota), lane_left.get(head, w.quota))
                if quota <= 0:
                    continue
                asked.append(Wanted(w.stage, w.lane, quota, w.after))
                taken = await self._claim_rows(connection, asked[-1:], quota)
                got += taken
                if w.stage in stage_left:
                    stage_left[w.stage] -= len(taken)
                if head in lane_left:
                    lane_left[head] -= len(taken)
            return asked, got

    def _stages_beside(self, wanted: set[int]) -> list[int]:
        """All stages of the pipelines these belong to."""
        pipelines = {self._pipelines[stage] for stage in wanted}
        return sorted(stage for stage, pipeline in self._pipeline_of.items() if pipeline in pipelines)


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
