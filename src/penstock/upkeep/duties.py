"""The duties a worker of the fleet takes part in. Those that only repeat one statement in batches are here whole."""

from dataclasses import dataclass
from typing import Any

from penstock.config import Settings
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.storage import counts, jobs, lanes, limits, queue, reads, relay, statistics
from penstock.upkeep.duty import Duty, in_batches, removals
from penstock.upkeep.fan_in import FanIn
from penstock.upkeep.rescue import Rescue
from penstock.upkeep.retention import Retention
from penstock.upkeep.schedules import Schedules

_DELETED_ROWS = 2000
_DELETED_JOBS = 20
_KEPT_BLOCKS_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCancelled:
    """Ends what still waits in cancelled lanes. The cancel itself only marked the lane."""

    events: Events
    name: str = "sweep cancelled"
    every_seconds: float = 1.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        await lanes.follow_jobs(connection)
        total = await in_batches(lambda batch: queue.sweep_cancelled(connection, batch), 1000, most=50)
        if total:
            self.events.emit("tasks.cancelled", count=total)
        return {"cancelled": total}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend:
    """Sends again what a broker was told of and nobody claimed: the message is lost, or who had it is gone. A row is
    only marked: the relay sends it in its turn."""

    events: Events
    older_than_seconds: float
    every_seconds: float
    name: str = "resend lost messages"

    async def run_once(self, connection: Any) -> dict[str, int]:
        older = self.older_than_seconds
        total = await in_batches(
            lambda batch: relay.resend_old(connection, older_than_seconds=older, batch=batch), 5000, most=20
        )
        if total:
            self.events.emit("messages.resent", count=total)
        return {"resent": total}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldCounts:
    """Folds appended counts into one row per lane, stage and state, and keeps the movement per minute."""

    name: str = "fold counts"
    every_seconds: float = 5.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        return {"folded": await in_batches(lambda batch: counts.fold(connection, batch), 5000, most=20)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteStanding:
    """Notes how much waits and runs in every stage, for charts of the backlog: twice a minute, so that no minute is
    left out."""

    name: str = "note standing"
    every_seconds: float = 30.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        loads = await reads.stage_load(connection)
        await statistics.note(connection, loads)
        return {"stages": sum(one["waiting"] + one["running"] > 0 for one in loads)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetBlocks:
    """Forgets keys that were only ever blocked for a while and never given a rate."""

    name: str = "forget blocks"
    every_seconds: float = 300.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        return {"forgotten": await limits.forget_passed_blocks(connection, older_than_seconds=_KEPT_BLOCKS_SECONDS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeactivateLanes:
    """Marks empty lanes as inactive, so that workers need not look at them; those that hold work again as active."""

    idle_seconds: float = 60.0
    name: str = "deactivate lanes"
    every_seconds: float = 30.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        woken = await lanes.activate_woken(connection)
        idle = self.idle_seconds
        total = await in_batches(lambda batch: lanes.deactivate_idle(connection, batch=batch, idle_seconds=idle), 500)
        stranded = await lanes.activate_stranded(connection)
        return {"activated": woken, "stranded": stranded, "deactivated": total}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDeleted:
    """Takes away the rows and files of deleted jobs, and uploads that were cut. A batch per job and round, so that a
    large job goes little by little. The job's own row goes last, and not before every transaction that may have been
    storing rows of it has ended."""

    settled_seconds: float = 120.0
    name: str = "deleted"
    every_seconds: float = 5.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        tasks = gone = 0
        for job_id in await jobs.deleted(connection, _DELETED_JOBS):
            removed = await jobs.remove_rows(connection, job_id, _DELETED_ROWS)
            tasks += removed
            if not removed:
                gone += await jobs.remove(connection, job_id, after_seconds=self.settled_seconds)
        done = {"tasks": tasks, "jobs": gone}
        for remove in removals("penstock.deleted"):
            done |= await remove(connection)
        return done


def all_duties(settings: Settings, events: Events, failpoints: Failpoints) -> tuple[Duty, ...]:
    slow = settings.cleanup_seconds if settings.profile == "paced" else None
    return (
        Rescue(events=events, crash_limit=settings.crash_limit, rescue_limit=settings.rescue_limit),
        SweepCancelled(events=events),
        Resend(events=events, older_than_seconds=settings.resend_seconds, every_seconds=settings.resend_every_seconds),
        Schedules(events=events, failpoints=failpoints),
        FanIn(events=events, failpoints=failpoints),
        FoldCounts(),
        NoteStanding(),
        ForgetBlocks(),
        DeactivateLanes(every_seconds=slow or 30.0),
        RemoveDeleted(),
        Retention(settings=settings, every_seconds=slow or 60.0),
    )
