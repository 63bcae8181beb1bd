"""Named events of the engine. Domain code emits them; one subscriber logs, one counts, one traces.

Task moves are emitted per batch, with the ids in them: every transition is named and timed without a call per task.
"""

from collections.abc import Callable, Mapping, Sequence
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
    "job.called_back": ("info", "every task of a job has ended, and its callback was enqueued"),
    "job.callback_failed": ("error", "the callback of a job could not be enqueued and is left"),
    "jobs.steered": ("info", "somebody paused, resumed, cancelled or reprioritised a job"),
    "lanes.steered": ("info", "somebody paused, resumed, cancelled, weighed or limited a lane"),
    "stages.steered": ("info", "somebody paused, resumed or limited a stage"),
    "stages.transferred": ("info", "somebody gave stages of one application to another"),
    "limits.steered": ("info", "somebody set, removed or blocked a limit"),
    "schedules.steered": ("info", "somebody created, changed, deleted, paused, resumed or fired a schedule"),
    "broker.away": ("warning", "a broker does not answer; it is tried again, and tasks wait in PostgreSQL"),
    "broker.refused": ("error", "a broker answers and refuses, with the reason: somebody has to look"),
    "broker.back": ("info", "the broker answers again"),
    "broker.bypassed": ("warning", "a broker is away for too long: its stages are claimed from PostgreSQL"),
    "broker.lost": ("warning", "a broker lost the queue of a stage; what was in it is sent again"),
    "relay.started": ("info", "this process sends the tasks of a broker now"),
    "messages.sent": ("debug", "a relay sent tasks to a broker"),
    "messages.resent": ("warning", "messages were not claimed in time and are sent again"),
    "messages.buried": ("error", "a message that cannot be read went to the dead-letter queue"),
    "messages.collected": ("warning", "dead messages were taken from a broker into PostgreSQL, by class of reason"),
    "messages.replayed": ("info", "somebody sent dead messages again"),
    "messages.discarded": ("info", "somebody threw dead messages away"),
    "messages.parked": ("warning", "a message of a newer version or of another type was put aside"),
    "limiter.blocked": ("warning", "a key was asked to slow down"),
    "limiter.opened": ("warning", "calls of a key kept failing; nobody makes any until one has been tried"),
    "limiter.closed": ("info", "a key answers again after its circuit was open"),
    "limiter.store_changed": ("warning", "limits are counted elsewhere from now on: in Redis or in PostgreSQL"),
    "limiter.store_differs": ("error", "a process counts limits elsewhere than the fleet: budgets are granted twice"),
    "limiter.redis_refused": ("error", "Redis answers the limiter and says no; limits are counted in PostgreSQL"),
}


@dataclass(frozen=True, slots=True)
class Event:
    """``touches``: the type of what it changed, where an extension says so."""

    name: str
    data: dict[str, Any]
    level: str = "info"
    touches: str | None = None


Subscriber = Callable[[Event], None]


class Events:
    """Synchronous, in the order of subscription. A subscriber must not block."""

    __slots__ = ("_levels", "_subscribers", "_touches")

    def __init__(self, subscribers: Sequence[Subscriber] = ()) -> None:
        self._subscribers = tuple(subscribers)
        self._levels = {name: level for name, (level, _) in NAMES.items()}
        self._touches: dict[str, str] = {}

    def declare(self, names: Mapping[str, tuple[str, str]], touches: Mapping[str, str]) -> None:
        """What an extension emits, beside the events of the engine."""
        self._levels |= {name: level for name, (level, _) in names.items()}
        self._touches |= touches

    def add(self, subscriber: Subscriber) -> None:
        """For a part that comes later than the application, such as a worker inside its process."""
        self._subscribers = (*self._subscribers, subscriber)

    def remove(self, subscriber: Subscriber) -> None:
        self._subscribers = tuple(one for one in self._subscribers if one != subscriber)

    def emit(self, name: str, **data: Any) -> None:
        if not self._subscribers:
            return
        event = Event(name, data, self._levels.get(name, "info"), self._touches.get(name))
        for subscriber in self._subscribers:
            subscriber(event)
