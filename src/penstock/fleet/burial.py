"""Gives back what a dead runner held, and says what that means for each task.

Only the supervisor can tell: the table of slots it shares with the runner outlives the process and names the tasks that
were running. What only waited in the inbox comes back as it was.
"""

from typing import Any

from penstock.config import Settings
from penstock.core.payload import encode
from penstock.core.report import tell_crashed, tell_released
from penstock.events import Events
from penstock.fleet.runner_process import RunnerProcess
from penstock.model import Release
from penstock.storage import queue


async def give_back(
    connection: Any, runner: RunnerProcess, *, settings: Settings, events: Events, stopping: bool
) -> int:
    """Returns how many tasks wait again, or ended because they crashed too often. May be repeated."""
    running = {(one.task_id, one.lease) for one in runner.slots.running()}
    overdue = {(one.task_id, one.lease) for one in runner.overdue}
    total = 0
    while leases := await queue.leases_of(connection, runner.worker):
        releases = [_release(runner, one, (one.task_id, one.lease) in running, overdue, stopping) for one in leases]
        released = await queue.release(
            connection,
            runner.worker,
            releases,
            crash_limit=settings.crash_limit,
            rescue_limit=settings.rescue_limit,
        )
        if not released:
            break
        total += len(released)
        tell_released(events, releases, released)
        crashed = [one for one in releases if one.crashed and one.task_id in released]
        tell_crashed(events, crashed, worker=runner.worker)
    return total


def _release(
    runner: RunnerProcess,
    held: queue.Lease,
    ran: bool,
    overdue: set[tuple[int, int]],
    stopping: bool,
) -> Release:
    """What ran burns an attempt, unless it only had the bad luck to run beside a task that was killed, or in a runner
    that ended for a reason of its own: it was stopped, or its lease ran out. After a fault of the runner itself nobody
    knows; that counts as a rescue, or a task that brings it about would do so for ever."""
    guilty = ran and not stopping and (not overdue or (held.task_id, held.lease) in overdue)
    guilty = guilty and not (runner.lapsed or runner.failed) and (runner.killed_for is None or bool(overdue))
    rescued = ran and runner.failed and not guilty
    gone = "rescue" if rescued else "hand back"
    cause = None if not ran else ("timeout" if overdue else "crash") if guilty else gone
    error = encode(
        {
            "class": "timeout" if overdue else "crash",
            "type": "ProcessKilled" if overdue else "ProcessDied",
            "message": runner.killed_for or f"the process died: {runner.how_it_ended()}",
        },
        what="error",
        limit_bytes=8192,
    )
    return Release(
        *held[:3], cause=cause, burned=guilty, crashed=guilty, rescued=rescued, error=error if cause else None
    )
