"""What Prometheus reads from the service: what it did itself, and what the engine has to say.

Started by `penstock up`, the service gives what it counted to the supervisor and shows the supervisor's whole text, so
that one address tells everything about one machine. On its own (`penstock serve`) it reads the engine's gauges itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from penstock.application import Penstock
from penstock.events import Event
from penstock.observe.counter import Counter
from penstock.observe.exposition import Exposition
from penstock.observe.wording import stage_label
from penstock.storage import reads
from penstock.storage.database import DATABASE_FAULTS

# metric → (kind, labels, what it shows). A test keeps docs/service.md in step.
METRICS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "penstock_http_requests_total": ("counter", ("method", "route", "status"), "requests answered"),
    "penstock_http_request_seconds": ("summary", ("route",), "how long answers took, without streams"),
    "penstock_items_stored_total": ("counter", (), "items stored by this process"),
    "penstock_streams": ("gauge", (), "open connections to /api/stream of this process"),
    "penstock_pending_count": ("gauge", (), "items that wait for a worker, in all stages"),
    "penstock_items_sec": ("gauge", ("stage",), "items a second that left the stage, over the last one to two minutes"),
    "penstock_supervisor_up": ("gauge", (), "1 if the supervisor answered; only under `penstock up`"),
}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SUPERVISOR_SECONDS = 5.0
Labels = tuple[str, ...]


class Metrics(Collector):
    """``request`` counts one answer; ``render`` is the whole page."""

    def __init__(
        self,
        app: Penstock,
        *,
        streams: Callable[[], int],
        supervisor: Callable[[list[list[Any]]], Awaitable[bytes | None]] | None = None,
    ) -> None:
        self.counter = Counter()
        self._app = app
        self._streams = streams
        self._supervisor = supervisor
        self._engine = Exposition(counter=self.counter, connect=app.connection, runners=lambda: [])
        self._requests: dict[Labels, int] = {}
        self._seconds: dict[Labels, tuple[int, float]] = {}
        self._stored = 0
        self._gauges: dict[str, list[tuple[Labels, float]]] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def on_event(self, event: Event) -> None:
        self.counter.on_event(event)
        if event.name == "tasks.enqueued":
            self._stored += event.data["count"]

    def request(self, *, method: str, route: str | None, status: int | None, seconds: float | None) -> None:
        """``route`` as it is declared, so that ids do not make a series each; None: nothing is there."""
        shown = route or "none"
        key = (method if method in _METHODS else "other", shown, str(status or "cut"))
        self._requests[key] = self._requests.get(key, 0) + 1
        if seconds is not None:
            count, total = self._seconds.get((shown,), (0, 0.0))
            self._seconds[(shown,)] = (count + 1, total + seconds)

    async def render(self) -> bytes:
        if self._supervisor is None:
            engine = await self._engine.render()
        else:
            engine, answered = await self._of_supervisor()
            self._gauges["penstock_supervisor_up"] = [((), float(answered))]
        self._gauges["penstock_streams"] = [((), float(self._streams()))]
        self._gauges |= await self._of_database()
        return engine + generate_latest(self._registry)

    async def _of_supervisor(self) -> tuple[bytes, bool]:
        assert self._supervisor is not None
        try:
            async with asyncio.timeout(_SUPERVISOR_SECONDS):
                text = await self._supervisor(self.counter.take())
        except TimeoutError:
            text = None
        return text or b"", text is not None

    async def _of_database(self) -> dict[str, list[tuple[Labels, float]]]:
        try:
            async with self._app.connection() as connection:
                stages, rates = await reads.stage_load(connection), await reads.stage_rates(connection)
        except DATABASE_FAULTS:
            return {"penstock_pending_count": [], "penstock_items_sec": []}
        paces: list[tuple[Labels, float]] = [
            ((stage_label(one["pipeline"], one["name"]),), max(rates[one["id"]]["ended_per_second"], 0.0))
            for one in stages
            if one["id"] in rates
        ]
        return {
            "penstock_pending_count": [((), float(sum(one["waiting"] for one in stages)))],
            "penstock_items_sec": paces,
        }

    def collect(self) -> Iterator[Metric]:
        counts: dict[str, dict[Labels, float]] = {
            "penstock_http_requests_total": {labels: float(n) for labels, n in self._requests.items()},
            "penstock_items_stored_total": {(): float(self._stored)},
        }
        for name, (kind, labels, says) in METRICS.items():
            if kind == "counter":
                counter = CounterMetricFamily(name, says, labels=labels)
                for values, n in counts[name].items():
                    counter.add_metric(values, n)
                yield counter
            elif kind == "gauge":
                gauge = GaugeMetricFamily(name, says, labels=labels)
                for values, value in self._gauges.get(name, ()):
                    gauge.add_metric(values, value)
                yield gauge
            else:
                summary = SummaryMetricFamily(name, says, labels=labels)
                for values, (count, total) in self._seconds.items():
                    summary.add_metric(values, count_value=count, sum_value=total)
                yield summary
