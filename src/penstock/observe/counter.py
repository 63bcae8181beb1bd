"""Counts events for metrics, and adds up run and wait times. Runners send what was added since the last time to their
supervisor, which exposes it.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.events import Event

# metric → what it counts; each per stage. A docs test keeps docs/metrics.md in step.
COUNTERS: dict[str, str] = {
    "penstock_tasks_enqueued_total": "tasks stored by this process",
    "penstock_tasks_claimed_total": "tasks leased",
    "penstock_tasks_finished_total": "tasks ended, by state",
    "penstock_tasks_retried_total": "runs that will be tried again, by cause",
    "penstock_tasks_failed_total": "runs that failed",
    "penstock_stale_settles_total": "settlements refused because the lease was not current",
    "penstock_crashes_total": "tasks whose process died under them",
    "penstock_rescued_total": "tasks taken back from dead workers",
    "penstock_dead_tasks_total": "tasks that became dead letters",
    "penstock_dead_messages_total": "messages that were collected from a broker's dead-letter queue, by transport and"
    " class of reason",
    "penstock_database_faults_total": "lost connections and failed statements",
}

Key = tuple[str, tuple[tuple[str, str], ...]]
# As counted: a stage may still be its number.
_RawKey = tuple[str, tuple[tuple[str, str | int], ...]]


class Counter:
    """Plain dictionaries: counting a batch is one addition."""

    def __init__(self) -> None:
        self._counts: dict[_RawKey, int] = {}
        self.labels: dict[int, str] = {}

    def know(self, labels: Mapping[int, str]) -> None:
        """Names of stages by id."""
        self.labels.update(labels)

    def on_event(self, event: Event) -> None:
        data = event.data
        match event.name:
            case "tasks.enqueued":
                self._add("penstock_tasks_enqueued_total", data["count"], stage=str(data["pipeline"]))
            case "tasks.claimed":
                self._add("penstock_tasks_claimed_total", data["count"], stage=data["stage"])
            case "tasks.finished":
                self._add("penstock_tasks_finished_total", data["count"], stage=data["stage"], state=data["state"])
                if data["state"] == "ERROR":
                    self._add("penstock_dead_tasks_total", data["count"], stage=data["stage"])
            case "tasks.released":
                cause = str(data["cause"] or "hand back")
                self._add("penstock_tasks_retried_total", data["count"], stage=data["stage"], cause=cause)
            case "tasks.failed":
                self._add("penstock_tasks_failed_total", 1, stage=str(data["stage"]))
            case "tasks.stale":
                self._add("penstock_stale_settles_total", data["count"], stage=data["stage"])
            case "tasks.crashed":
                self._add("penstock_crashes_total", data["count"], stage=data["stage"])
            case "tasks.rescued":
                self._add("penstock_rescued_total", data["count"], stage=data["stage"])
            case "messages.collected":
                for reason, n in data["reasons"].items():
                    self._add("penstock_dead_messages_total", n, transport=str(data["transport"]), reason=str(reason))
            case "database.lost":
                self._add("penstock_database_faults_total", 1, link=str(data["link"]))
            case _:
                return

    def take(self) -> list[list[Any]]:
        """What was counted since the last call, as [metric, labels, n].

        A stage without a name yet stays for the next call: a supervisor rescues tasks of stages it does not serve, and
        learns their names when it looks at the database.
        """
        taken, self._counts = self._counts, {}
        named: list[list[Any]] = []
        for (name, labels), n in taken.items():
            shown = {key: self.labels.get(value) if isinstance(value, int) else value for key, value in labels}
            if None in shown.values():
                self._counts[(name, labels)] = n
            else:
                named.append([name, shown, n])
        return named

    def _add(self, name: str, n: int, **labels: str | int) -> None:
        key = (name, tuple(sorted(labels.items())))
        self._counts[key] = self._counts.get(key, 0) + n


# metric → what it measures; each per stage, as a sum and a count.
TIMES: dict[str, str] = {
    "penstock_run_seconds": "how long handlers ran",
    "penstock_wait_seconds": "how long tasks were due before they were claimed; some of every claim are measured",
}


class Pace(Protocol):
    """What a runner keeps per stage."""

    runs: int
    run_seconds: float
    waits: int
    wait_seconds: float


class Timings:
    """Remembers what was told already."""

    def __init__(self, paces: Mapping[str, Pace]) -> None:
        self._paces = paces
        self._told: dict[str, tuple[int, float, int, float]] = {}

    def take(self) -> list[list[Any]]:
        """In the shape of ``Counter.take``: [metric, labels, n]."""
        taken: list[list[Any]] = []
        for stage, pace in self._paces.items():
            now = (pace.runs, pace.run_seconds, pace.waits, pace.wait_seconds)
            before = self._told.get(stage, (0, 0.0, 0, 0.0))
            self._told[stage] = now
            runs, run_seconds, waits, wait_seconds = (new - old for new, old in zip(now, before, strict=True))
            if runs:
                taken.append(["penstock_run_seconds_sum", {"stage": stage}, run_seconds])
                taken.append(["penstock_run_seconds_count", {"stage": stage}, runs])
            if waits:
                taken.append(["penstock_wait_seconds_sum", {"stage": stage}, wait_seconds])
                taken.append(["penstock_wait_seconds_count", {"stage": stage}, waits])
        return taken
