"""`penstock bench transports`: the same no-op tasks over PostgreSQL, Redis and RabbitMQ, in turn, in one run.

All three end at the same two statements of PostgreSQL; what a broker adds is the relay (read, publish, mark) and the
message's way. The relay alone is measured against its own client that is given finished messages in the same batches.
"""

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pydantic import SecretStr

from penstock import brokers as transports
from penstock.brokers.envelope import Envelope
from penstock.brokers.relay import Relay
from penstock.brokers.transport import Outgoing
from penstock.config import Settings
from penstock.core.jobs import Job
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.fleet.fleet import Fleet
from penstock.storage import stages
from penstock.terminal.session import Session
from penstock_bench import drain
from penstock_bench import statements as bench
from penstock_bench.bench_app import sample
from penstock_bench.figures import Goal, Rounds, machine, median, ratio, tell
from penstock_bench.ground import APP, Ground, Site, opened, ready
from penstock_bench.transports_servers import brokers

_POSTGRES = "postgres"
_MEANING = {
    "redis": "What is left of PostgreSQL's own speed when tasks go by way of Redis.",
    "rabbitmq": "What is left of PostgreSQL's own speed when tasks go by way of RabbitMQ.",
}
GOALS = tuple(Goal(key=f"{name}_ratio", least=0.4, meaning=text) for name, text in _MEANING.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``seconds``: no round is begun that would end later."""

    tasks: int = 20_000
    messages: int = 20_000
    rounds: int = 5
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(tasks=6000, messages=6000, rounds=2, seconds=45)


@dataclass(slots=True, kw_only=True)
class _Found:
    """Per round: tasks a second by transport, and messages a second of relay and bare client by broker."""

    tasks: dict[str, list[float]] = field(default_factory=dict)
    relay: dict[str, list[float]] = field(default_factory=dict)
    bare: dict[str, list[float]] = field(default_factory=dict)


async def transports_bench(session: Session, sizes: Sizes) -> None:
    async with AsyncExitStack() as stack:
        ground = await stack.enter_async_context(opened(session.settings, session.out.say))
        urls = await stack.enter_async_context(brokers(session.settings, ground.folder, ground.tell))
        figures = await measure(ground, urls, sizes)
    rows = [
        {
            "transport": name,
            "tasks_per_second": figures[f"{name}_tasks_per_second"],
            "ratio": figures.get(f"{name}_ratio", 1.0),
            "relay_per_second": figures.get(f"{name}_relay_per_second", "–"),
            "bare_client": figures.get(f"{name}_bare_per_second", "–"),
            "relay_ratio": figures.get(f"{name}_relay_ratio", "–"),
        }
        for name in (_POSTGRES, *urls)
    ]
    tell(session, figures, rows, [goal for goal in GOALS if goal.key in figures])


async def measure(ground: Ground, urls: dict[str, str], sizes: Sizes) -> dict[str, Any]:
    found = _Found()
    async with ground.site() as site:
        where = await machine(site.connection)
        ways = {_POSTGRES: _settings(ground.settings, _POSTGRES, urls)}
        ways |= {name: _settings(ground.settings, name, urls) for name in urls}
        backlog = _Backlog(site)
        for number in Rounds(sizes.rounds, ground.until(sizes.seconds)):
            for name, settings in ways.items():
                found.tasks.setdefault(name, []).append(await _drained(site, settings, backlog, sizes.tasks))
            for name in urls:
                bare, relay = await _relayed(site, ways[name], name, backlog, sizes.messages)
                found.bare.setdefault(name, []).append(bare)
                found.relay.setdefault(name, []).append(relay)
            ground.tell(f"round {number} of {sizes.rounds}: " + _said(found))
    return _figures(found, sizes) | {"machine": where}


def _settings(given: Settings, transport: str, urls: dict[str, str]) -> Settings:
    """Limits are counted in PostgreSQL for all three."""
    chosen: dict[str, Any] = {"transport": transport, "transports": {}, "limiter": "postgres"}
    chosen |= {f"{name}_url": SecretStr(url) for name, url in urls.items()}
    return given.model_copy(update={**chosen, "broker_prefix": f"bench{uuid4().hex[:8]}"})


class _Backlog:
    """No-op tasks, all in one job, so that every round works on the same lane."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._job: Job | None = None

    async def fill(self, count: int) -> None:
        await drain.pause(self._site, "noop")
        rows = (sample(number) for number in range(count))
        self._job = await self._site.tasks.noop.options(job=self._job).enqueue_many(rows)
        await bench.settle_down(self._site.connection)


async def _drained(site: Site, settings: Settings, backlog: _Backlog, count: int) -> float:
    """From the first claim to the last outcome, as the throughput bench does it."""
    await backlog.fill(count)
    async with ready(Fleet(settings=settings, url=site.url, app=APP, only=("noop",))) as fleet:
        return (await drain.by_runner(site, fleet, "noop", count)).per_second


async def _relayed(site: Site, settings: Settings, name: str, backlog: _Backlog, count: int) -> tuple[float, float]:
    """Messages a second: finished ones by the client alone, then those of waiting tasks by the relay."""
    settings = settings.model_copy(update={"relay_ahead": 4 * count})
    bare = await _bare(settings, name, count)
    await backlog.fill(count + settings.relay_batch)
    await stages.resume(site.connection, "noop", None)
    relay = Relay(
        name, settings=settings, url=site.url, events=Events(), failpoints=Failpoints(), first_ahead=4 * count
    )
    try:
        first = await relay.run_once()  # opens the connections, and is not counted
        began = time.perf_counter()
        while relay.sent - first < count:
            await relay.run_once()
        relayed = count / (time.perf_counter() - began)
    finally:
        await relay.close()
    await _clear(site, count + settings.relay_batch)
    return bare, relayed


async def _bare(settings: Settings, name: str, count: int) -> float:
    """The same client with messages that are ready, in batches of the same size."""
    message = Envelope(
        job_id=str(uuid4()),
        type="noop",
        task_id=10**6,
        lane=1,
        priority=0,
        attempt=1,
        max_attempts=3,
        created_at=datetime.now(UTC),
    ).encode()
    queue = f"{settings.broker_prefix}.bare"
    batch = [Outgoing(queue, 1, message)] * settings.relay_batch
    transport = await transports.opened(name, settings)
    try:
        await transport.publish(batch)
        began = time.perf_counter()
        for _ in range(count // len(batch)):
            await transport.publish(batch)
        return count // len(batch) * len(batch) / (time.perf_counter() - began)
    finally:
        await transport.remove(queue)
        await transport.close()


async def _clear(site: Site, count: int) -> None:
    """What was relayed and not run goes out of the way, or the next round would find it."""
    async with ready(
        Fleet(settings=_settings(site.settings, _POSTGRES, {}), url=site.url, app=APP, only=("noop",))
    ) as fleet:
        await drain.pause(site, "noop")
        await drain.by_runner(site, fleet, "noop", count)


def _said(found: _Found) -> str:
    tasks = ", ".join(f"{name} {rates[-1]:,.0f}/s" for name, rates in found.tasks.items())
    relays = ", ".join(
        f"relay {name} {rates[-1]:,.0f}/s (bare {found.bare[name][-1]:,.0f}/s)" for name, rates in found.relay.items()
    )
    return f"{tasks}; {relays}"


def _figures(found: _Found, sizes: Sizes) -> dict[str, Any]:
    figures: dict[str, Any] = {f"{name}_tasks_per_second": round(median(rates)) for name, rates in found.tasks.items()}
    for name in found.relay:
        figures[f"{name}_ratio"] = ratio(zip(found.tasks[name], found.tasks[_POSTGRES], strict=True))
        figures[f"{name}_relay_per_second"] = round(median(found.relay[name]))
        figures[f"{name}_bare_per_second"] = round(median(found.bare[name]))
        figures[f"{name}_relay_ratio"] = ratio(zip(found.relay[name], found.bare[name], strict=True))
    rounds = [
        {name: round(rates[number]) for name, rates in found.tasks.items()}
        for number in range(len(found.tasks[_POSTGRES]))
    ]
    return figures | {"tasks": sizes.tasks, "messages": sizes.messages, "rounds": rounds}
