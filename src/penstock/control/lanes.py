"""What people do with lanes: look, pause, resume, cancel, weigh, limit. A lane is named by its pipeline and its key and
means all its priorities; a lane of a job is steered with the job."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from penstock.control.stages import checked_limit
from penstock.core.app import App
from penstock.errors import InvalidSetting, NotKnown, UsageError
from penstock.storage import lanes, reads
from penstock.storage.reads import NEWEST, Lane

__all__ = ["HEAVIEST", "Lane", "cancel", "limit", "page", "pause", "resume", "waiting", "weigh"]

HEAVIEST = 100


async def page(
    app: App, *, before: int | None = None, idle_too: bool = False, pipeline: str | None = None, limit: int
) -> list[Lane]:
    """Newest first, with what they hold."""
    async with app.connection() as connection:
        return await reads.lane_page(connection, NEWEST if before is None else before, idle_too, pipeline, limit)


async def waiting(app: App, pipeline: str, key: str) -> int:
    """How many tasks wait in it: what a cancel would end."""
    async with app.connection() as connection:
        found = await reads.waiting_in_lane(connection, pipeline, key)
        if found is None:
            raise await _missing(connection, pipeline, key)
    return found


async def pause(app: App, pipeline: str, key: str, *, by: str, reason: str | None = None) -> None:
    """Nothing more of it is started; what runs goes on to its end."""
    change = partial(lanes.pause, by=by, reason=reason)
    await _decide(app, pipeline, key, "pause", change, by=by, reason=reason)


async def resume(app: App, pipeline: str, key: str, *, by: str) -> None:
    """Go on after a pause."""
    await _decide(app, pipeline, key, "resume", lanes.resume, by=by)
    await app.wake_all()


async def cancel(app: App, pipeline: str, key: str, *, by: str) -> None:
    """Waiting tasks end at once, running ones are asked to stop. Later ones start in a new lane."""
    await _decide(
        app, pipeline, key, "cancel", lambda link, pipeline, key: lanes.cancel(link, pipeline, key, by), by=by
    )


async def weigh(app: App, pipeline: str, key: str, weight: int, *, by: str) -> None:
    """Its share of the turns among lanes of the same priority."""
    if not 1 <= weight <= HEAVIEST:
        raise InvalidSetting("weight", weight, f"use 1 to {HEAVIEST}")
    await _decide(app, pipeline, key, "weigh", partial(lanes.configure, weight=weight), by=by, weight=weight)


async def limit(app: App, pipeline: str, key: str, max_running: int | None, *, by: str) -> None:
    """At most so many of the lane run at a time, in the whole fleet; None takes the limit away."""
    checked_limit(max_running)
    change = partial(lanes.configure, set_limit=True, max_running=max_running)
    await _decide(app, pipeline, key, "limit", change, by=by, max_running=max_running)
    await app.wake_all()


async def _decide(
    app: App,
    pipeline: str,
    key: str,
    move: str,
    change: Callable[[Any, str, str], Awaitable[int]],
    *,
    by: str,
    **more: Any,
) -> None:
    async with app.connection() as connection:
        if not await change(connection, pipeline, key):
            raise await _missing(connection, pipeline, key)
    app.events.emit("lanes.steered", pipeline=pipeline, lane=key, move=move, by=by, **more)


async def _missing(connection: Any, pipeline: str, key: str) -> NotKnown | UsageError:
    """Cancelled lanes count as gone: their key is free for a new one."""
    if (job := await lanes.job_of_key(connection, pipeline, key)) is not None:
        return UsageError(f"Lane {key} of {pipeline} belongs to job {job}. Use `penstock jobs` with {job} instead.")
    return NotKnown(kind="lane", name=f"{pipeline} {key}")
