"""Whose turn it is: strict by priority, fair between lanes of one priority. For claims and for the relay.

It rotates over the active lanes of its stages and asks for the top of each. For every (stage, lane) it remembers how
far it got, so that a look does not walk over rows that are gone but not yet vacuumed; about once a second it starts at
the front again, for rows that committed late or came back.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from penstock.model import Claimed, LaneView
from penstock.storage import lanes as lane_table
from penstock.storage.database import Link
from penstock.storage.queue import FRONT, LaneClaim
from penstock.storage.relay import Unsent
from penstock.storage.stages import Limits

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


# A row, and where it stands in its lane.
Placed = Claimed | Unsent


@dataclass(slots=True)
class Look:
    """The lanes to ask in one statement, and most rows in all. Whoever asked sets ``got`` before it takes the next one,
    and leaves in ``wanted`` what was really asked for, so that a lane at its limit is not taken for an empty one."""

    wanted: list[LaneClaim]
    room: int
    got: Sequence[Placed] = ()


@dataclass(slots=True)
class _Place:
    """How far one (stage, lane) was read."""

    after: tuple[datetime, int] = FRONT
    front_due: float = 0.0
    # A look at the front costs time; before this one nobody may ask for another.
    front_allowed: float = 0.0
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


class Turns:
    """``looks`` says what to ask, and remembers from the answers how far each lane was read."""

    def __init__(
        self,
        *,
        pipelines: Mapping[int, str],
        job: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``pipelines``: the stages that are served, by id, in the order they are served; ``job``: no others."""
        self.pipelines = dict(pipelines)
        self._job = job
        self._clock = clock
        self._rings: dict[int, dict[int, _Ring]] = {}
        self._places: dict[tuple[int, int], _Place] = {}
        self.limited_stages: frozenset[int] = frozenset()
        self.limited_lanes: frozenset[int] = frozenset()
        # Every stage of the fleet, also those that other runners serve: a lane's limit counts them all.
        self.pipeline_of: dict[int, str] = {}
        self._read_at = float("-inf")
        self._read_took = 0.0
        self._look_owed = False
        self._hints = 0
        self.priorities: dict[int, int] = {}

    @property
    def limited(self) -> bool:
        """Whether anything here has a fleet-wide limit, so that each ending makes room."""
        return bool(self.limited_stages or self.limited_lanes)

    def forget_dry(self, *, told: bool = True, from_front: bool = False) -> None:
        """Look at every lane again, on request from its front; where somebody ``told`` that something was enqueued,
        also at those that are new."""
        if told:
            self._hints += 1
            self._look_owed = True
        for place in self._places.values():
            place.dry_until = 0.0
            if from_front:
                place.front_due = min(place.front_due, place.front_allowed)

    def look_due_seconds(self) -> float | None:
        """When a look at all lanes is owed that had to wait its turn: in how many seconds that is."""
        return max(0.0, self._read_at + self._look_pause() - self._clock()) if self._look_owed else None

    def look_again(self) -> None:
        """Which lanes are served has changed: they are read anew."""
        self._read_at = float("-inf")

    def looks(self, room: Mapping[int, int]) -> Iterator[Look]:
        """Up to ``room[stage]`` rows of each stage."""
        left = {stage: count for stage, count in room.items() if count > 0 and stage in self._rings}
        for priority in sorted({number for stage in left for number in self._rings[stage]}):
            yield from self._looks_of(priority, left)
            if not any(left.values()):
                return

    def _looks_of(self, priority: int, left: dict[int, int]) -> Iterator[Look]:
        """One priority, until the room is filled or every lane had its turn."""
        turns = {stage: len(self._rings[stage][priority].lanes) for stage in left if priority in self._rings[stage]}
        size = _WINDOW
        while turns:
            wanted: list[LaneClaim] = []
            now = self._clock()
            for stage, turn in list(turns.items()):
                room = left[stage]
                if turn <= 0 or room <= 0:
                    turns.pop(stage)
                    continue
                window = self._rings[stage][priority].window(min(size, turn))
                turns[stage] = turn - len(window)
                wanted += self._quotas(stage, window, room, now)
            if not wanted:
                continue
            look = Look(wanted, sum(left[stage] for stage in {w.stage for w in wanted}))
            started, hints = self._clock(), self._hints
            yield look
            more = self._remember(look, started, hinted=self._hints != hints)
            # Lanes that were used a moment ago and are empty now: look at more of them at once.
            size = _WINDOW if look.got else min(size * 2, _WIDEST)
            for one in look.got:
                left[one.stage] -= 1
            # A lane that filled its quota has more: give it another turn while there is room.
            for stage in {stage for stage, _ in more}:
                if left[stage] > 0:
                    turns[stage] = len(self._rings[stage][priority].lanes)

    def _quotas(self, stage: int, window: Sequence[LaneView], room: int, now: float) -> list[LaneClaim]:
        due = [lane for lane in window if self._place(stage, lane.id).dry_until <= now]
        weights = sum(lane.weight for lane in due)
        wanted = []
        for lane in due:
            place = self._place(stage, lane.id)
            quota = min(room, -(-room * lane.weight // weights))  # rounded up: a rest would cost a statement of its own
            after = FRONT if now >= place.front_due else place.after
            wanted.append(LaneClaim(stage, lane.id, quota, after))
        return wanted

    def _place(self, stage: int, lane: int) -> _Place:
        place = self._places.get((stage, lane))
        if place is None:
            place = self._places[(stage, lane)] = _Place()
        return place

    def _remember(self, look: Look, started: float, *, hinted: bool) -> set[tuple[int, int]]:
        """Returns the pairs that filled their quota and so may hold more. Where there was no room for more, a lane that
        gave little may not have been looked at. ``hinted``: something was enqueued meanwhile, so a lane that was empty
        may not be any more."""
        now, cut = self._clock(), len(look.got) >= look.room
        more: set[tuple[int, int]] = set()
        count: dict[tuple[int, int], int] = {}
        last: dict[tuple[int, int], tuple[datetime, int]] = {}
        for one in look.got:
            key = (one.stage, one.lane)
            count[key] = count.get(key, 0) + 1
            position = (one.run_at, one.task_id)
            if key not in last or position > last[key]:
                last[key] = position
        for w in look.wanted:
            key = (w.stage, w.lane)
            place = self._place(*key)
            if cut and count.get(key, 0) < w.quota:
                continue
            from_front = w.after is FRONT
            if from_front:
                place.front_allowed = now + _pause_after(now - started)
                place.front_due = max(now + _FRONT_EVERY_SECONDS, place.front_allowed)
            if count.get(key, 0) >= w.quota:
                place.after = last[key]
                more.add(key)
            else:
                place.after = max(place.after, last.get(key, FRONT))
                if not hinted:
                    place.dry_until = now + _FRONT_EVERY_SECONDS
        return more

    async def read_lanes(self, link: Link, serves: Callable[[Limits, LaneView], bool]) -> None:
        """Which lanes there are; read again about every second, or when something was enqueued. ``serves``: whether
        this lane of this stage is looked at."""
        now = self._clock()
        if now - self._read_at < self._look_pause():
            return
        self._look_owed = False  # before the statement: a hint that meets it asks for the next one
        async with link.guarded() as connection:
            if self._job is None:
                found, stages = await lane_table.served(connection, sorted(set(self.pipelines.values())))
            else:
                found, stages = await lane_table.served_of_job(connection, self._job)
        limits = {one.id: one for one in stages}
        rings: dict[int, dict[int, _Ring]] = {}
        for stage, pipeline in self.pipelines.items():
            if stage not in limits or limits[stage].paused:
                continue
            before = self._rings.get(stage, {})
            by_priority: dict[int, _Ring] = {}
            for lane in found:
                if lane.pipeline == pipeline and not lane.paused and serves(limits[stage], lane):
                    by_priority.setdefault(lane.priority, _Ring()).lanes.append(lane)
            for priority, ring in by_priority.items():
                if priority in before:
                    ring.at = before[priority].at % len(ring.lanes)
            rings[stage] = by_priority
        self._rings = rings
        self.priorities = {lane.id: lane.priority for lane in found}
        known = {(stage, lane.id) for stage in rings for ring in rings[stage].values() for lane in ring.lanes}
        self._places = {key: place for key, place in self._places.items() if key in known}
        self.limited_stages = frozenset(one.id for one in limits.values() if one.max_running is not None)
        self.pipeline_of = {one.id: one.pipeline for one in limits.values()}
        self.limited_lanes = frozenset(lane.id for lane in found if lane.max_running is not None)
        self._read_at = self._clock()
        self._read_took = self._read_at - now

    def _look_pause(self) -> float:
        if self._look_owed:
            return min(max(_HINT_LEAST_SECONDS, self._read_took / _HINT_SHARE), _LOOK_SECONDS)
        return max(_FRONT_EVERY_SECONDS, _pause_after(self._read_took))


def _pause_after(took_seconds: float) -> float:
    return min(took_seconds / _LOOK_SHARE, _LOOK_SECONDS)
