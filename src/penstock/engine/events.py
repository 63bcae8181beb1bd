"""Named events of the engine. Domain code emits them; one subscriber logs, one counts, one traces.

Task moves are emitted per batch, with the ids in them: every transition is named and timed without a call per task.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# name → (level, what it says). A docs test keeps docs/events.md in step.
NAMES: dict[str, tuple[str, str]] = {
    "tasks.enqueued": ("info", "tasks were stored"),
    "tasks.claimed": ("info", "a runner leased tasks"),
    "tasks.finished": ("info", "tasks ended, with their state"),
    "tasks.advanced": ("info", "tasks moved to their next stage"),
    "tasks.released": ("info", "tasks wait again: retry, snooze, hand back"),
    "tasks.failed": ("warning", "a run failed, with its error"),
    "tasks.stale": ("warning", "a settlement came too late: somebody else holds the task by now"),
    "tasks.crashed": ("error", "a process died while it ran these tasks"),
    "tasks.rescued": ("warning", "tasks were taken back from a dead worker"),
    "tasks.cancelled": ("info", "tasks were cancelled"),
    "tasks.reprocessed": ("info", "finished tasks start again"),
    "claims.adapted": ("warning", "claims shrink or grow again because of pressure or errors, with the reason"),
    "worker.started": ("info", "a runner is ready"),
    "worker.unborn": ("error", "a runner could not be started; it is tried again"),
    "worker.stopped": ("info", "a runner has stopped"),
    "worker.died": ("error", "a runner died or was killed"),
    "worker.fenced": ("error", "a worker was declared dead and starts again under a new id"),
    "worker.silent": ("warning", "the database does not answer the heartbeat"),
    "worker.health": ("info", "the regular health report"),
    "database.lost": ("warning", "a connection was lost; it is opened again"),
    "database.back": ("info", "the connection is back"),
    "duty.done": ("debug", "an upkeep duty ran"),
    "duty.failed": ("error", "an upkeep duty failed; it is tried again when it is due"),
    "schedule.fired": ("info", "a schedule enqueued its task"),
    "schedule.skipped": ("warning", "fire times passed without a task, as the schedule's policy says"),
    "schedule.failed": ("error", "a schedule could not enqueue its task; it goes on with its next time"),
    "jobs.steered": ("info", "somebody paused, resumed, cancelled or reprioritised a job"),
    "lanes.steered": ("info", "somebody paused, resumed, cancelled, weighed or limited a lane"),
    "stages.steered": ("info", "somebody paused, resumed or limited a stage"),
    "limits.steered": ("info", "somebody set, removed or blocked a limit"),
    "schedules.steered": ("info", "somebody created, changed, deleted, paused, resumed or fired a schedule"),
    "limiter.blocked": ("warning", "a key was asked to slow down"),
}


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    data: dict[str, Any]


Subscriber = Callable[[Event], None]


class Events:
    """Synchronous, in the order of subscription. A subscriber must not block."""

    __slots__ = ("_subscribers",)

    def __init__(self, subscribers: Sequence[Subscriber] = ()) -> None:
        self._subscribers = tuple(subscribers)

    def add(self, subscriber: Subscriber) -> None:
        """For a part that comes later than the application, such as a worker inside its process."""
        self._subscribers = (*self._subscribers, subscriber)

    def remove(self, subscriber: Subscriber) -> None:
        self._subscribers = tuple(one for one in self._subscribers if one != subscriber)

    def emit(self, name: str, **data: Any) -> None:
        if not self._subscribers:
            return
        event = Event(name, data)
        for subscriber in self._subscribers:
            subscriber(event)
