"""How the last hours went, step by step, from the statistics that are kept per minute. Items are never looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from penstock.errors import NotKnown
from penstock.insight.record import WIRE
from penstock.observe.times_spread import BUCKETS, percentile_seconds
from penstock.storage import jobs, stages, statistics
from penstock.storage.statistics import RUN_BUCKETS, WAIT_BUCKETS

Connection = Any

LONGEST_MINUTES = 1440
_MOST_POINTS = 120
_STEPS = (1, 2, 5, 10, 15)
_SLOW = 0.95
# What arrives at a stage; what ends there, DONE first; what moves on to the next one.
_ARRIVED, _DONE, _FAILED, _MOVED_ON = 0, 2, 3, 7
_OTHERWISE = (4, 5, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """One step. `enqueued`: arrived at the stage, or new items where several stages are asked for; `done` of one stage
    includes what moved on to the next. `endedOtherwise`: not found, skipped, cancelled. `retried`: runs that were tried
    again. `waiting`, `running` and `oldestWaitSeconds` are the highest that were seen in the step, null where nobody
    looked. Means and 95th percentiles are null where nothing was measured; a percentile is off by less than a fifth."""

    __pydantic_config__ = WIRE

    at: datetime
    enqueued: int
    done: int
    failed: int
    ended_otherwise: int
    retried: int
    waiting: int | None
    running: int | None
    oldest_wait_seconds: float | None
    wait_mean_seconds: float | None
    wait_p95_seconds: float | None
    run_mean_seconds: float | None
    run_p95_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """Points rise in time, without a gap; the last one is still growing. They are wider than a minute where there would
    be more than 120."""

    __pydantic_config__ = WIRE

    step_minutes: int
    points: list[HistoryPoint]


async def history(
    connection: Connection, *, minutes: int, pipeline: str | None = None, stage: str | None = None
) -> HistoryView:
    """Of everything, of a pipeline, or of one of its stages."""
    step = step_of(minutes)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        chosen = await _stages(connection, pipeline, stage)
        now = await jobs.database_now(connection)
        last = now.replace(second=0, microsecond=0)
        since = last - timedelta(minutes=minutes - 1)
        found = await statistics.by_step(connection, since=since, step_minutes=step, stages=chosen)
    begins = [since + timedelta(minutes=n) for n in range(0, minutes, step)]
    return HistoryView(
        step_minutes=step,
        points=[point_of(at, found.get(at, {}), single=stage is not None) for at in begins],
    )


def step_of(minutes: int) -> int:
    """So wide that a chart does not get more points than it can show."""
    return next((step for step in _STEPS if minutes <= step * _MOST_POINTS), _STEPS[-1])


def point_of(at: datetime, seen: Mapping[int, int], *, single: bool) -> HistoryPoint:
    """A replay takes counts back, so a sum may be below zero; nobody wants to see that."""
    moved_on = seen.get(_MOVED_ON, 0)
    looked = statistics.LOOKED in seen
    runs, waits = seen.get(statistics.RUNS, 0), seen.get(statistics.WAITS, 0)
    return HistoryPoint(
        at=at,
        # What moves on arrives once more, at the next stage: over several stages that is nothing new.
        enqueued=max(seen.get(_ARRIVED, 0) - (0 if single else moved_on), 0),
        done=max(seen.get(_DONE, 0) + (moved_on if single else 0), 0),
        failed=max(seen.get(_FAILED, 0), 0),
        ended_otherwise=max(sum(seen.get(state, 0) for state in _OTHERWISE), 0),
        retried=seen.get(statistics.RETRIES, 0),
        waiting=seen.get(statistics.WAITING, 0) if looked else None,
        running=seen.get(statistics.RUNNING, 0) if looked else None,
        oldest_wait_seconds=float(seen.get(statistics.OLDEST_SECONDS, 0)) if looked else None,
        wait_mean_seconds=seen.get(statistics.WAIT_MS, 0) / waits / 1000 if waits else None,
        wait_p95_seconds=slow_seconds([seen], WAIT_BUCKETS),
        run_mean_seconds=seen.get(statistics.RUN_MS, 0) / runs / 1000 if runs else None,
        run_p95_seconds=slow_seconds([seen], RUN_BUCKETS),
    )


def slow_seconds(seen: Sequence[Mapping[int, int]], first_state: int) -> float | None:
    """The 95th percentile over counters by state, those of several stages together."""
    counts: dict[int, int] = {}
    for one in seen:
        for bucket in range(BUCKETS):
            if n := one.get(first_state + bucket, 0):
                counts[bucket] = counts.get(bucket, 0) + n
    return percentile_seconds(counts, _SLOW)


async def _stages(connection: Connection, pipeline: str | None, stage: str | None) -> list[int] | None:
    if pipeline is None:
        return None
    known = [row for row in await stages.listing(connection) if row["pipeline"] == pipeline]
    chosen = [row["id"] for row in known if stage in (None, row["name"])]
    if not known:
        raise NotKnown(kind="pipeline", name=pipeline, known=[])
    if not chosen:
        raise NotKnown(kind=f"stage of {pipeline!r}", name=stage or "", known=[row["name"] for row in known])
    return chosen
