"""What somebody chose: some items, or all that match but some. Counted by the kept counters, or by a bounded look."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from penstock.console.storage import selections
from penstock.console.storage.selections import Selection
from penstock.core.job_counts import counts_of
from penstock.insight import error_groups
from penstock.lifecycle import State
from penstock.storage import items, reads
from penstock.storage.items import EARLIEST, LATEST, ItemPosition, ItemsWanted

KEEP_SECONDS = 86_400.0
MOST_PICKED = 10_000
# Of one person, that nothing was done with: every question "what would happen" makes one.
MOST_KEPT = 100
# What is not counted by a counter is counted by looking at so many.
_LOOK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Which items are meant. ``owner`` None: everybody's; it counts where no job is named."""

    job_id: int | None = None
    states: tuple[State, ...] = tuple(State)
    since: datetime | None = None
    until: datetime | None = None
    type: str | None = None
    group: str | None = None
    owner: str | None = None

    @property
    def counted(self) -> bool:
        """Whether the kept counters know how many these are."""
        return self.since is None and self.until is None and self.group is None

    def stored(self) -> dict[str, Any]:
        return {
            "jobId": self.job_id,
            "statuses": [state.name for state in self.states],
            "since": None if self.since is None else self.since.isoformat(),
            "until": None if self.until is None else self.until.isoformat(),
            "type": self.type,
            "group": self.group,
            "owner": self.owner,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "ItemFilter":
        since, until = stored["since"], stored["until"]
        return cls(
            job_id=stored["jobId"],
            states=tuple(State[name] for name in stored["statuses"]),
            since=None if since is None else datetime.fromisoformat(since),
            until=None if until is None else datetime.fromisoformat(until),
            type=stored["type"],
            group=stored["group"],
            owner=stored["owner"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """``later``: how many of the PENDING wait for a time to come, or ``later_more``; ``edited``: for how many of the
    SKIPPED a copy stands. ``estimate``: there are more than were looked at."""

    by_state: Mapping[State, int]
    estimate: bool
    later: int
    later_more: bool = False
    edited: int = 0

    @property
    def total(self) -> int:
        return sum(self.by_state.values())


async def wanted(connection: Any, matching: ItemFilter) -> ItemsWanted:
    """With the jobs that may hold such items."""
    jobs = None if matching.job_id is None else [matching.job_id]
    if jobs is None:
        jobs = await items.jobs_with(
            connection, matching.states, owner=matching.owner, kind=matching.type, pipeline=None
        )
    return ItemsWanted(
        jobs=jobs,
        states=matching.states,
        since=matching.since or EARLIEST,
        until=matching.until or LATEST,
        group=matching.group,
    )


async def places(
    connection: Any, wanted: ItemsWanted, after: ItemPosition | None, limit: int
) -> tuple[list[ItemPosition], ItemPosition | None]:
    """The next ones, oldest change first, and the place to go on from; None: that was all."""
    if not wanted.jobs:
        return [], None
    if wanted.group is not None:
        look = await error_groups.members(
            connection, wanted, newest_first=False, behind=after, limit=limit, looked_at=limit
        )
        return list(look.places), look.last if look.more else None
    found = await items.oldest(connection, wanted, after, limit)
    return found, found[-1] if len(found) == limit else None


async def count(connection: Any, matching: ItemFilter, left_out: Sequence[int] = ()) -> Counted:
    """All that match now, but ``left_out``."""
    meant = await wanted(connection, matching)
    if matching.counted:
        by_state, estimate = await _kept(connection, meant), False
        later = await selections.later(connection, meant.jobs, _LOOK) if by_state.get(State.PENDING) else 0
        more = later == _LOOK
    else:
        found, further = await places(connection, meant, None, _LOOK)
        these = await count_these(connection, [place.task_id for place in found])
        by_state, later, more, estimate = Counter(these.by_state), these.later, False, further is not None
    jobs = set(meant.jobs)
    for one in await selections.standing(connection, list(left_out)):
        if by_state.get(one.status) and one.job_id in jobs and meant.since <= one.at < meant.until:
            by_state[one.status] -= 1
            later -= one.later
    # The counters are of another moment than the look.
    later = min(max(later, 0), by_state.get(State.PENDING, 0))
    return Counted(
        by_state={state: n for state, n in by_state.items() if n}, later=later, later_more=more, estimate=estimate
    )


async def count_these(connection: Any, task_ids: Sequence[int]) -> Counted:
    found = await selections.standing(connection, list(task_ids))
    return Counted(
        by_state=Counter(one.status for one in found),
        later=sum(one.later for one in found),
        edited=sum(one.edited for one in found),
        estimate=False,
    )


async def count_selection(connection: Any, selection: Selection) -> Counted:
    """As it is now, which may be another number than when it was made."""
    if selection.picked is not None:
        return await count_these(connection, selection.picked)
    return await count(connection, ItemFilter.read(selection.filter), sorted(selection.left_out))


async def _kept(connection: Any, meant: ItemsWanted) -> Counter[State]:
    total: Counter[State] = Counter()
    for moved in (await reads.job_movements(connection, list(meant.jobs))).values():
        counts = counts_of(moved)
        for state in meant.states:
            total[state] += getattr(counts, state.name.lower())
    return total


def still_open(meant: ItemsWanted, since: datetime, until: datetime) -> ItemsWanted:
    """Those of it that changed in between and are not finished: they were passed by, or were not reached."""
    states = [state for state in meant.states if not state.finished]
    return replace(meant, states=states, since=max(meant.since, since), until=min(meant.until, until))
