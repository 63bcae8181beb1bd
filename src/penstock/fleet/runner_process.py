"""A runner process as its supervisor sees it, and what becomes of the tasks it held when it has died."""

import asyncio
import os
import signal
import socket
import time
from dataclasses import asdict
from typing import Any

from penstock.config import Settings
from penstock.core.payload import encode
from penstock.core.settle import tell_crashed, tell_released
from penstock.events import Events
from penstock.fleet.channel import Channel
from penstock.fleet.nursery import ForkedRunner, Nursery
from penstock.fleet.process import BUG_EXIT, LAPSED_EXIT, MEMORY_EXIT, Blueprint, Orders
from penstock.model import Release
from penstock.storage import queue
from penstock.workers.slots import Running, Slots

SLOTS = 4096


class RunnerProcess:
    """Started, watched and ended by the supervisor. Keeps the slots until the death has been dealt with."""

    def __init__(self, worker: int, process: ForkedRunner, slots: Slots, channel: Channel) -> None:
        self.worker = worker
        self.slots = slots
        self.channel = channel
        self.status: dict[str, Any] = {}
        self.told_at = time.monotonic()
        self.stages: list[str] = []
        self.ready = asyncio.Event()
        self.started = time.monotonic()
        self.killed_for: str | None = None
        self.overdue: list[Running] = []
        self._process = process

    @classmethod
    async def start(cls, worker: int, blueprint: Blueprint, nursery: Nursery) -> "RunnerProcess":
        slots = Slots.create(SLOTS)
        ours, theirs = socket.socketpair()
        orders = Orders(
            **asdict(blueprint),
            worker=worker,
            slots=str(slots.path),
            slot_count=SLOTS,
            channel=theirs.fileno(),
            supervisor_pid=os.getpid(),
        )
        try:
            child = await nursery.start_runner(orders, theirs)
        except BaseException:
            ours.close()
            slots.close(remove=True)
            raise
        finally:
            theirs.close()
        return cls(worker, child, slots, await Channel.over(ours))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code

    @property
    def lapsed(self) -> bool:
        """It ended by itself, because its lease ran out or the database was away, or with the nursery: not the fault
        of a task."""
        return self._process.orphaned or (self.exit_code == LAPSED_EXIT and self.slots.lapsed())

    @property
    def failed(self) -> bool:
        """One of its own loops did: not known whether a task was the reason."""
        return self.exit_code == BUG_EXIT

    def kill(self, why: str) -> None:
        """No goodbye: for runners whose lease ends or whose handler holds on."""
        if self.exit_code is None:
            self.killed_for = self.killed_for or why
            self._process.kill()

    def how_it_ended(self) -> str:
        code = self.exit_code
        if code is None:
            return "it runs"
        if self._process.orphaned:
            return "the process that starts the runners ended"
        if code < 0:
            try:
                return f"signal {signal.Signals(-code).name}"
            except ValueError:
                return f"signal {-code}"
        return "out of memory" if code == MEMORY_EXIT else f"exit code {code}"

    def overdue_now(self, grace_seconds: float) -> list[Running]:
        limit = time.monotonic_ns() - int(grace_seconds * 1e9)
        return [one for one in self.slots.running() if one.deadline_ns and one.deadline_ns < limit]

    def close(self) -> None:
        self.channel.close()
        self.slots.close(remove=True)


async def give_back(
    connection: Any, runner: RunnerProcess, *, settings: Settings, events: Events, stopping: bool
) -> int:
    """What a dead runner held goes back. Returns how many tasks wait again, or ended because they crashed too often.
    May be repeated.

    Only the supervisor can tell what that means for each task: the table of slots it shares with the runner outlives
    the process and names the tasks that were running. What only waited in the inbox comes back as it was."""
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
