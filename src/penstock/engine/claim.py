"""Takes work: lane by lane, strict by priority, fair between lanes of one priority.

The worker rotates over the active lanes of its stages and takes the top of each. For every (stage, lane) it
remembers how far it got, so that a claim does not walk over rows that are gone but not yet vacuumed; about once
a second it starts at the front again, for rows that committed late or came back.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from penstock.failpoints import Failpoints
from penstock.model import Claimed, LaneView
from penstock.storage import lanes as lane_table
from penstock.storage import paced, queue, stages
from penstock.storage.database import Link
from penstock.storage.queue import FRONT, Wanted

# Lanes asked in one statement. More per statement starves none, but makes quotas small.
_WINDOW = 20
_WIDEST = 500
_FRONT_EVERY_SECONDS = 1.0
# A look that costs much (from the front of a lane, or at all lanes) comes less often: it may take this share of time.
# Up to a limit, because one answer may be slow for reasons of its own.
_LOOK_SHARE = 0.05
_LOOK_SECONDS = 10.0
# A look at all lanes that somebody waits for may take more: the newly enqueued task may be in a lane nobody knows yet.
_HINT_SHARE = 0.2
_HINT_LEAST_SECONDS = 0.02


@dataclass(slots=True)
class _Place:
    """How far one (stage, lane) was read."""

    after: tuple[datetime, int] = FRONT
    front_due: float = 0.0
    dry_until: float = 0.0


@dataclass(slots=True)
class _Ring:
    """Lanes of one stage and priority, in turn."""

    lanes: list[LaneView] = field(default_factory=list)
    at: int = 0

    def window(self, size: int) -> list[LaneView]:
        """The next lanes, each at most once; the following call starts behind them."""
        count = min(size, len(self.lanes))
        chosen = [self.lanes[(self.at + turn) % len(self.lanes)] for turn in range(count)]
        self.at = (self.at + count) % max(len(self.lanes), 1)
        return chosen


class Claimer:
    """Owns one connection; used by discovery only."""

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
        """``pipelines``: the stages this runner serves, by id, in the order they are served; ``job``: no others.
        ``least_age_seconds``: rows that changed or became due since then are left alone."""
        self._link = link
        self._worker = worker
        self._failpoints = failpoints
        self._pipelines = dict(pipelines)
        self._job = job
        self._least_age_seconds = least_age_seconds
        self._clock = clock
        self._rings: dict[int, dict[int, _Ring]] = {}
        self._places: dict[tuple[int, int], _Place] = {}
        self._limited_stages: frozenset[int] = frozenset()
        # Every stage of the fleet, also those that other runners serve: a lane's limit counts them all.
        self._pipeline_of: dict[int, str] = {}
        self._limited_lanes: frozenset[int] = frozenset()
        self._read_at = float("-inf")
        self._read_took = 0.0
        self._look_owed = False
        self._hints = 0
        self.priorities: dict[int, int] = {}

    @property
    def limited_stages(self) -> frozenset[int]:
        return self._limited_stages

    @property
    def limited(self) -> bool:
        """Whether anything here has a fleet-wide limit, so that each ending makes room."""
        return bool(self._limited_stages or self._limited_lanes)

    def forget_dry(self, *, told: bool = True) -> None:
        """Look at every lane again; where somebody ``told`` that something was enqueued, also at those that are new."""
        if told:
            self._hints += 1
            self._look_owed = True
        for place in self._places.values():
            place.dry_until = 0.0

    def look_due_seconds(self) -> float | None:
        """When a look at all lanes is owed that had to wait its turn: in how many seconds that is."""
        return max(0.0, self._read_at + self._look_pause() - self._clock()) if self._look_owed else None

    async def claim(self, room: Mapping[int, int]) -> list[Claimed]:
        """Up to ``room[stage]`` tasks of each stage."""
        await self._read_lanes()
        self._failpoints.hit("before_claim", self._link.drop)
        left = {stage: count for stage, count in room.items() if count > 0 and stage in self._rings}
        claimed: list[Claimed] = []
        for priority in sorted({number for stage in left for number in self._rings[stage]}):
            claimed += await self._claim_priority(priority, left)
            if not any(left.values()):
                break
        if claimed:
            self._failpoints.hit("after_claim_commit", self._link.drop)
        return claimed

    async def _claim_priority(self, priority: int, left: dict[int, int]) -> list[Claimed]:
        """One priority, until the room is filled or every lane had its turn."""
        claimed: list[Claimed] = []
        turns = {stage: len(self._rings[stage][priority].lanes) for stage in left if priority in self._rings[stage]}
        size = _WINDOW
        while True:
            wanted: list[Wanted] = []
            now = self._clock()
            for stage, turn in list(turns.items()):
                room = left[stage]
                if turn <= 0 or room <= 0:
                    turns.pop(stage)
                    continue
                window = self._rings[stage][priority].window(min(size, turn))
                turns[stage] = turn - len(window)
                wanted += self._quotas(stage, window, room, now)
            if wanted:
                got, more = await self._take(wanted, sum(left[stage] for stage in {w.stage for w in wanted}))
                # Lanes that were used a moment ago and are empty now: look at more of them at once.
                size = _WINDOW if got else min(size * 2, _WIDEST)
                for one in got:
                    left[one.stage] -= 1
                claimed += got
                # A lane that filled its quota has more: give it another turn while there is room.
                for stage in {stage for stage, _ in more}:
                    if left[stage] > 0:
                        turns[stage] = len(self._rings[stage][priority].lanes)
            if not turns:
                return claimed

    def _quotas(self, stage: int, window: Sequence[LaneView], room: int, now: float) -> list[Wanted]:
        due = [lane for lane in window if self._place(stage, lane.id).dry_until <= now]
        weights = sum(lane.weight for lane in due)
        wanted = []
        for lane in due:
            place = self._place(stage, lane.id)
            quota = min(room, -(-room * lane.weight // weights))  # rounded up: a rest would cost a statement of its own
            after = FRONT if now >= place.front_due else place.after
            wanted.append(Wanted(stage, lane.id, quota, after))
        return wanted

    def _place(self, stage: int, lane: int) -> _Place:
        place = self._places.get((stage, lane))
        if place is None:
            place = self._places[(stage, lane)] = _Place()
        return place

    async def _take(self, wanted: list[Wanted], room: int) -> tuple[list[Claimed], set[tuple[int, int]]]:
        """What came, and the (stage, lane) pairs that filled their quota and so may hold more."""
        started, hints = self._clock(), self._hints
        async with self._link.guarded() as connection:
            if self._limited_stages or self._limited_lanes:
                wanted, got = await self._claim_within_limits(connection, wanted, room)
            else:
                got = await self._claim_rows(connection, wanted, room)
        return got, self._remember(
            wanted, got, started, self._clock(), cut=len(got) >= room, hinted=self._hints != hints
        )

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

    def _remember(
        self, wanted: list[Wanted], got: list[Claimed], started: float, now: float, *, cut: bool, hinted: bool
    ) -> set[tuple[int, int]]:
        """Returns the pairs that filled their quota. ``cut``: there was no room for more, so a lane that gave little
        may not have been looked at. ``hinted``: something was enqueued meanwhile, so a lane that was empty may not
        be any more."""
        more: set[tuple[int, int]] = set()
        count: dict[tuple[int, int], int] = {}
        last: dict[tuple[int, int], tuple[datetime, int]] = {}
        for one in got:
            key = (one.stage, one.lane)
            count[key] = count.get(key, 0) + 1
            position = (one.run_at, one.task_id)
            if key not in last or position > last[key]:
                last[key] = position
        for w in wanted:
            key = (w.stage, w.lane)
            place = self._place(*key)
            if cut and count.get(key, 0) < w.quota:
                continue
            from_front = w.after is FRONT
            if from_front:
                place.front_due = now + max(_FRONT_EVERY_SECONDS, _pause_after(now - started))
            if count.get(key, 0) >= w.quota:
                place.after = last[key]
                more.add(key)
            else:
                place.after = max(place.after, last.get(key, FRONT))
                if not hinted:
                    place.dry_until = now + _FRONT_EVERY_SECONDS
        return more

    async def _read_lanes(self) -> None:
        """Which lanes there are; read again about every second, or when something was enqueued."""
        now = self._clock()
        if now - self._read_at < self._look_pause():
            return
        self._look_owed = False  # before the statement: a hint that meets it asks for the next one
        async with self._link.guarded() as connection:
            if self._job is None:
                found = await lane_table.active(connection, sorted(set(self._pipelines.values())))
            else:
                found = await lane_table.active_of_job(connection, self._job)
            limits = {one.id: one for one in await stages.limits(connection)}
        rings: dict[int, dict[int, _Ring]] = {}
        for stage, pipeline in self._pipelines.items():
            if stage not in limits or limits[stage].paused:
                continue
            before = self._rings.get(stage, {})
            by_priority: dict[int, _Ring] = {}
            for lane in found:
                if lane.pipeline == pipeline and not lane.paused:
                    by_priority.setdefault(lane.priority, _Ring()).lanes.append(lane)
            for priority, ring in by_priority.items():
                if priority in before:
                    ring.at = before[priority].at % len(ring.lanes)
            rings[stage] = by_priority
        self._rings = rings
        self.priorities = {lane.id: lane.priority for lane in found}
        known = {(stage, lane.id) for stage in rings for ring in rings[stage].values() for lane in ring.lanes}
        self._places = {key: place for key, place in self._places.items() if key in known}
        self._limited_stages = frozenset(one.id for one in limits.values() if one.max_running is not None)
        self._pipeline_of = {one.id: one.pipeline for one in limits.values()}
        self._limited_lanes = frozenset(lane.id for lane in found if lane.max_running is not None)
        self._read_at = self._clock()
        self._read_took = self._read_at - now

    def _look_pause(self) -> float:
        if self._look_owed:
            return min(max(_HINT_LEAST_SECONDS, self._read_took / _HINT_SHARE), _LOOK_SECONDS)
        return max(_FRONT_EVERY_SECONDS, _pause_after(self._read_took))


def _pause_after(took_seconds: float) -> float:
    return min(took_seconds / _LOOK_SHARE, _LOOK_SECONDS)


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
