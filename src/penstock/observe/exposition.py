"""What Prometheus reads: counters merged from all runners of this supervisor, gauges read when asked.

Counters belong to this supervisor and its runners: sum them over the fleet. Gauges of stages come from the database and
are the same wherever they are read: take the maximum, not the sum.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from penstock.errors import DatabaseError
from penstock.observe.counter import COUNTERS, TIMES, Counter, Key
from penstock.observe.stage_measures import measured
from penstock.observe.wording import stage_label
from penstock.storage import dead_messages, reads, workers
from penstock.storage.database import passing
from penstock.storage.dialer import require_writes

# metric → (labels, what it shows). A docs test keeps docs/metrics.md in step.
GAUGES: dict[str, tuple[tuple[str, ...], str]] = {
    "penstock_stage_waiting": (("stage",), "tasks that wait in the stage, due or not"),
    "penstock_stage_running": (("stage",), "tasks of the stage that are leased, in the whole fleet"),
    "penstock_stage_oldest_wait_seconds": (("stage",), "how long the oldest task that could run has been due"),
    "penstock_stage_paused": (("stage",), "1 while the stage is paused"),
    "penstock_stage_run_seconds_mean": (
        ("stage", "window"),
        "mean time of a run over the last hour or minute, in the whole fleet",
    ),
    "penstock_stage_success_ratio": (("stage",), "share of what left the stage in the last hour that went well"),
    "penstock_stage_failure_ratio": (("stage",), "share of what left the stage in the last hour that failed"),
    "penstock_stage_retries_last_hour": (("stage",), "runs of the last hour that were tried again"),
    "penstock_dead_messages_open": (
        ("transport",),
        "messages of a broker that nobody could read and nobody sent again",
    ),
    "penstock_broker_away_seconds": (
        ("transport",),
        "how long a broker has not answered a runner of this supervisor, or refused it; 0 while it works",
    ),
    "penstock_workers_live": ((), "workers with a current lease, in the whole fleet"),
    "penstock_processors": (("stage", "state"), "processors of this supervisor: idle, busy, error"),
    "penstock_inbox": (("stage",), "tasks claimed by this supervisor that wait for a processor"),
    "penstock_seconds_since_poll": (("worker",), "time since a runner last asked the database for work"),
    "penstock_claim_size": (("worker", "stage"), "tasks of the stage that a runner wants to hold"),
    "penstock_claim_factor": (
        ("worker", "stage", "cause"),
        "below 1 while a lack of cpu or memory, or errors, shrink the claims",
    ),
    "penstock_retry_spacing": (("worker", "stage"), "above 1 while most runs fail and retries wait longer"),
    "penstock_runners": ((), "runner processes of this supervisor"),
    "penstock_runners_ready": ((), "of these, those that serve their stages"),
    "penstock_database_up": ((), "1 if the database answered this request and accepts writes"),
}

# These are there for every stage from the start, at zero, so that a first stale settle or crash shows as an increase.
_FROM_ZERO = frozenset(
    {
        "penstock_stale_settles_total",
        "penstock_crashes_total",
        "penstock_rescued_total",
        "penstock_dead_tasks_total",
    }
)

# By gauge and by the values of its labels.
Samples = dict[str, dict[tuple[str, ...], float]]
Connect = Callable[[], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerView:
    """What the exposition asks of a runner process: its worker id, its last status, whether it is ready."""

    worker: int
    status: Mapping[str, Any]
    ready: bool
    told_at: float


class Exposition(Collector):
    """Give ``counted`` to the supervisor; call ``render`` per request."""

    def __init__(self, *, counter: Counter, connect: Connect, runners: Callable[[], Sequence[RunnerView]]) -> None:
        self._counter = counter
        self._connect = connect
        self._runners = runners
        self._totals: dict[Key, float] = {}
        self._gauges: Samples = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def counted(self, metrics: Iterable[Sequence[Any]]) -> None:
        """What a runner has counted since it last told."""
        for name, labels, n in metrics:
            key = (name, tuple(sorted(labels.items())))
            self._totals[key] = self._totals.get(key, 0) + n

    async def render(self) -> bytes:
        # The database first: it names stages that this supervisor does not serve.
        self._gauges = _of_runners(self._runners()) | await self._of_database()
        self.counted(self._counter.take())
        return generate_latest(self._registry)

    async def _of_database(self) -> Samples:
        try:
            async with self._connect() as connection:
                await require_writes(connection)
                stages, rates = await reads.stage_load(connection), await reads.stage_rates(connection)
                dead = await dead_messages.open_counts(connection)
                live = sum(1 for worker in await workers.listing(connection) if worker["live"])
        except Exception as error:
            if not (passing(error) or isinstance(error, DatabaseError)):
                raise
            return {"penstock_database_up": {(): 0}}
        found: Samples = defaultdict(dict)
        found["penstock_database_up"][()] = 1
        found["penstock_workers_live"][()] = live
        found["penstock_dead_messages_open"] = {(name,): dead.get(name, 0) for name in ("redis", "rabbitmq")}
        for stage in stages:
            label = (stage_label(stage["pipeline"], stage["name"]),)
            self._counter.know({stage["id"]: label[0]})
            oldest = stage["oldest_at"]
            waited = (stage["read_at"] - oldest).total_seconds() if oldest is not None else 0.0
            found["penstock_stage_waiting"][label] = stage["waiting"]
            found["penstock_stage_running"][label] = stage["running"]
            found["penstock_stage_oldest_wait_seconds"][label] = waited
            found["penstock_stage_paused"][label] = int(stage["paused_at"] is not None)
            for name, labels, value in measured(label[0], rates.get(stage["id"], {})):
                found[name][labels] = value
        return found

    def collect(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from self._summaries()
        for name, (labels, says) in GAUGES.items():
            gauge = GaugeMetricFamily(name, says, labels=labels)
            for values, value in self._gauges.get(name, {}).items():
                gauge.add_metric(values, value)
            yield gauge

    def _counters(self) -> Iterator[Metric]:
        for name, says in COUNTERS.items():
            found = {labels: n for (counted, labels), n in self._totals.items() if counted == name}
            if name in _FROM_ZERO:
                found = {(("stage", label),): 0.0 for label in self._counter.labels.values()} | found
            names = sorted({key for labels in found for key, _ in labels})
            family = CounterMetricFamily(name, says, labels=names)
            for labels, n in found.items():
                values = dict(labels)
                family.add_metric([values.get(key, "") for key in names], n)
            yield family

    def _summaries(self) -> Iterator[Metric]:
        for name, says in TIMES.items():
            family = SummaryMetricFamily(name, says, labels=["stage"])
            for (counted, labels), count in self._totals.items():
                if counted == f"{name}_count":
                    total = self._totals.get((f"{name}_sum", labels), 0.0)
                    family.add_metric([dict(labels)["stage"]], count_value=int(count), sum_value=total)
            yield family


def _of_runners(runners: Sequence[RunnerView]) -> Samples:
    """What they hold, what their controllers decided (the reasons are in their status), and how long a broker has been
    away: the longest, over the runners and stages that use it. Times go on after what was told last."""
    found: Samples = defaultdict(dict)
    found["penstock_runners"][()] = len(runners)
    found["penstock_runners_ready"][()] = sum(1 for runner in runners if runner.ready)
    for runner in runners:
        worker, since_told = str(runner.worker), time.monotonic() - runner.told_at
        if (polled := runner.status.get("polled_seconds_ago")) is not None:
            found["penstock_seconds_since_poll"][worker,] = polled + since_told
        for stage, seen in runner.status.get("stages", {}).items():
            _add(found["penstock_inbox"], (stage,), seen["inbox"])
            for state, n in seen["processors"].items():
                _add(found["penstock_processors"], (stage, state), n)
            if (claim := seen.get("claim")) is not None:
                found["penstock_claim_size"][worker, stage] = claim["size"]
            for cause in ("cpu", "memory", "errors"):
                if (factor := seen.get(f"{cause}_factor")) is not None:
                    found["penstock_claim_factor"][worker, stage, cause] = factor
            if (spacing := seen.get("retry_spacing")) is not None:
                found["penstock_retry_spacing"][worker, stage] = spacing
            if (transport := seen.get("transport", "postgres")) != "postgres":
                away = seen.get("away_seconds", 0.0)
                before = found["penstock_broker_away_seconds"].get((transport,), 0.0)
                found["penstock_broker_away_seconds"][transport,] = max(before, away + since_told if away else 0.0)
    return found


def _add(samples: dict[tuple[str, ...], float], labels: tuple[str, ...], n: float) -> None:
    samples[labels] = samples.get(labels, 0) + n
