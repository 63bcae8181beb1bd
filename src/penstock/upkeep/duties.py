"""The duties a worker of the fleet takes part in: rescue, retention, and those that only repeat one statement in
batches. What fires something is in ``firing``.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import asyncpg

from penstock.config import Settings
from penstock.core import preferences
from penstock.core.payload import encode
from penstock.core.settle import tell_released, tell_rescued
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.model import Release
from penstock.storage import (
    audit,
    counts,
    dead_messages,
    duties,
    jobs,
    lanes,
    limits,
    outcomes,
    queue,
    reads,
    relay,
    statistics,
    workers,
)
from penstock.storage.outcomes import EARLIEST, LATEST
from penstock.upkeep.duty import Duty, in_batches, removed_by
from penstock.upkeep.firing import FanIn, Schedules

_RETENTION = "retention"
_BATCH = 1000
_BATCHES_PER_RUN = 300
_DAY_SECONDS = 86_400.0
_WORKER_ROWS_KEPT_SECONDS = _DAY_SECONDS
# Behind the place that was reached: a row that somebody held just then was passed by.
_LOOKED_AT_AGAIN = timedelta(minutes=5)
# After a long stop: each batch begins at the front of its window.
_READ_AT_ONCE = timedelta(hours=1)
_DELETED_ROWS = 2000
_DELETED_JOBS = 20
_KEPT_BLOCKS_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    """Takes tasks back from workers that are gone.

    Two steps: a worker whose lease ended is declared dead, which makes its heartbeats fail from then on; then its rows
    are given back under its own (task, worker, lease), so a zombie that settles in between still wins or loses cleanly.
    """

    events: Events
    crash_limit: int
    rescue_limit: int

    async def run_once(self, connection: Any) -> dict[str, int]:
        dead = await workers.declare_dead(connection)
        rescued = 0
        for worker in await queue.holders_gone(connection):
            rescued += await self._take_back(connection, worker)
        return {"dead": len(dead), "rescued": rescued}

    async def _take_back(self, connection: Any, worker: int) -> int:
        total = 0
        while True:
            async with connection.transaction():
                leases = await queue.leases_to_rescue(connection, worker, _BATCH)
                releases = [_release(one) for one in leases]
                try:
                    released = await self._give_back(connection, worker, releases)
                except asyncpg.LockNotAvailableError:
                    # Somebody's open transaction holds the unique key of one of them: take the others.
                    released = {}
                    for one in releases:
                        with suppress(asyncpg.LockNotAvailableError):
                            released |= await self._give_back(connection, worker, [one])
            if not released:
                return total
            total += len(released)
            tell_released(self.events, releases, released)
            tell_rescued(self.events, [one for one in releases if one.task_id in released], worker=worker)

    async def _give_back(self, connection: Any, worker: int, releases: list[Release]) -> dict[int, int]:
        if not releases:
            return {}
        async with connection.transaction():
            return await queue.release(
                connection, worker, releases, crash_limit=self.crash_limit, rescue_limit=self.rescue_limit
            )


def _release(held: queue.Lease) -> Release:
    """Nobody saw the worker die: it may as well be cut off, with healthy tasks. So nothing is burned, also where the
    last heartbeat named the task as running. The rescue limit bounds a task that takes whole machines down. One that
    certainly only waited comes back as it was."""
    if held.waited:
        return Release(*held[:3], cause=None)
    ran = "its worker vanished while it ran"
    message = ran if held.ran else "its worker vanished; nobody knows whether it had started"
    return Release(
        *held[:3],
        cause="rescue",
        rescued=True,
        delay_seconds=None,
        error=encode({"class": "crash", "type": "WorkerLost", "message": message}, what="error", limit_bytes=4096),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Removes finished tasks after their time, then jobs and lanes that hold nothing any more, in small batches that
    never hold a lock for long.

    What admins changed counts from the next run on. Items of jobs are what people submitted: they are kept until
    somebody says how long. Tasks of no job are enqueued by programs, and would fill the disk of whoever never looks."""

    settings: Settings

    async def run_once(self, connection: Any) -> dict[str, int]:
        kept = await preferences.read(connection, self.settings)
        ended, dead, audited = (
            None if (days := kept[name].value) is None else days * _DAY_SECONDS
            for name in ("endedItemsDays", "deadLettersDays", "auditDays")
        )
        # Of everything that belongs to no job.
        single = preferences.SINGLE_DAYS * _DAY_SECONDS if ended is None else ended
        single_dead = single if dead is None else dead
        removed = {
            "tasks": await self._expire_tasks(connection, ended, dead, single),
            "jobs": 0 if ended is None else await jobs.expire(connection, ended),
            "lanes": await lanes.expire(connection, max(single, single_dead), _BATCH),
            "dead_messages": await dead_messages.expire(connection, single_dead, _BATCH),
            "statistics": await counts.expire_statistics(connection, single)
            + await statistics.expire_details(connection),
            "workers": await workers.forget(connection, _WORKER_ROWS_KEPT_SECONDS),
            "audit": 0
            if audited is None
            else await in_batches(
                lambda batch: audit.forget(connection, audited, batch), _BATCH, most=_BATCHES_PER_RUN
            ),
        }
        return removed | await removed_by("penstock.retention", connection, single)

    async def _expire_tasks(self, connection: Any, ended: float | None, dead: float | None, single: float) -> int:
        """What is kept for ever is not read again and again: a run goes on where the last one stopped."""
        since = await self._since(connection, dead) if ended is None else EARLIEST
        total, reached = 0, None
        for _ in range(_BATCHES_PER_RUN):
            until = LATEST if since == EARLIEST else since + _READ_AT_ONCE
            gone = await outcomes.expire(
                connection, ended, dead, _BATCH, single_seconds=single, single_since=since, single_until=until
            )
            total += gone.count
            if gone.count >= _BATCH:
                continue
            since = reached = gone.until
            if gone.until < until:
                break
        if ended is not None:
            await duties.reach(connection, _RETENTION, None)
        elif reached is not None:
            await duties.reach(connection, _RETENTION, {"until": reached.isoformat(), "dead": dead is None})
        return total

    async def _since(self, connection: Any, dead: float | None) -> datetime:
        """A place counts for dead letters of no job only if they were removed on the way to it."""
        reached = await duties.position(connection, _RETENTION)
        if reached is None or (dead is None and not reached["dead"]):
            return EARLIEST
        return datetime.fromisoformat(reached["until"]) - _LOOKED_AT_AGAIN


async def sweep_cancelled(connection: Any, *, events: Events) -> dict[str, int]:
    """Ends what still waits in cancelled lanes. The cancel itself only marked the lane."""
    await lanes.follow_jobs(connection)
    total = await in_batches(lambda batch: queue.sweep_cancelled(connection, batch), 1000, most=50)
    if total:
        events.emit("tasks.cancelled", count=total)
    return {"cancelled": total}


async def resend(connection: Any, *, events: Events, older_than_seconds: float) -> dict[str, int]:
    """Sends again what a broker was told of and nobody claimed: the message is lost, or who had it is gone. A row is
    only marked: the relay sends it in its turn."""
    total = await in_batches(
        lambda batch: relay.resend_old(connection, older_than_seconds=older_than_seconds, batch=batch), 5000, most=20
    )
    if total:
        events.emit("messages.resent", count=total)
    return {"resent": total}


async def fold_counts(connection: Any) -> dict[str, int]:
    """Folds appended counts into one row per lane, stage and state, and keeps the movement per minute."""
    return {"folded": await in_batches(lambda batch: counts.fold(connection, batch), 5000, most=20)}


async def note_standing(connection: Any) -> dict[str, int]:
    """Notes how much waits and runs in every stage, for charts of the backlog: twice a minute, so that no minute is
    left out."""
    loads = await reads.stage_load(connection)
    await statistics.note(connection, loads)
    return {"stages": sum(one["waiting"] + one["running"] > 0 for one in loads)}


async def forget_blocks(connection: Any) -> dict[str, int]:
    """Forgets keys that were only ever blocked for a while and never given a rate."""
    return {"forgotten": await limits.forget_passed_blocks(connection, older_than_seconds=_KEPT_BLOCKS_SECONDS)}


async def deactivate_lanes(connection: Any) -> dict[str, int]:
    """Marks empty lanes as inactive, so that workers need not look at them; those that hold work again as active."""
    woken = await lanes.activate_woken(connection)
    total = await in_batches(lambda batch: lanes.deactivate_idle(connection, batch=batch, idle_seconds=60.0), 500)
    stranded = await lanes.activate_stranded(connection)
    return {"activated": woken, "stranded": stranded, "deactivated": total}


async def remove_deleted(connection: Any, *, settled_seconds: float = 120.0) -> dict[str, int]:
    """Takes away the rows and files of deleted jobs, and uploads that were cut. A batch per job and round, so that a
    large job goes little by little. The job's own row goes last, and not before every transaction that may have been
    storing rows of it has ended."""
    tasks = gone = 0
    for job_id in await jobs.deleted(connection, _DELETED_JOBS):
        removed = await jobs.remove_rows(connection, job_id, _DELETED_ROWS)
        tasks += removed
        if not removed:
            gone += await jobs.remove(connection, job_id, after_seconds=settled_seconds)
    return {"tasks": tasks, "jobs": gone} | await removed_by("penstock.deleted", connection)


def all_duties(settings: Settings, events: Events, failpoints: Failpoints) -> tuple[Duty, ...]:
    slow = settings.cleanup_seconds if settings.profile == "paced" else None
    rescue = Rescue(events=events, crash_limit=settings.crash_limit, rescue_limit=settings.rescue_limit)
    lost = partial(resend, events=events, older_than_seconds=settings.resend_seconds)
    return (
        Duty("rescue", 1.0, rescue.run_once),
        Duty("sweep cancelled", 1.0, partial(sweep_cancelled, events=events)),
        Duty("resend lost messages", settings.resend_every_seconds, lost),
        Duty("schedules", 1.0, Schedules(events=events, failpoints=failpoints).run_once),
        Duty("fan-in", 1.0, FanIn(events=events, failpoints=failpoints).run_once),
        Duty("fold counts", 5.0, fold_counts),
        Duty("note standing", 30.0, note_standing),
        Duty("forget blocks", 300.0, forget_blocks),
        Duty("deactivate lanes", slow or 30.0, deactivate_lanes),
        Duty("deleted", 5.0, remove_deleted),
        Duty(_RETENTION, slow or 60.0, Retention(settings=settings).run_once),
    )
