"""Hands due tasks to a broker: reads what it was not told of, publishes, and notes it when the broker has confirmed.

One relay per broker at a time; any worker may be it. What dies with a relay is published again by the next one, which
costs a second message and nothing else.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from penstock import brokers as transports
from penstock.adaptation.claims import pause_seconds
from penstock.brokers.broker_watch import BrokerWatch
from penstock.brokers.collecting import Collector
from penstock.brokers.envelope import Envelope, job_id_of, trace_of
from penstock.brokers.relay_depths import FIRST, Depths
from penstock.brokers.stage_transports import BrokerStage, broker_stage
from penstock.brokers.transport import BrokerAway, BrokerRefused, Outgoing, Transport, urgency
from penstock.config import Settings
from penstock.core.outage import LinkWatch
from penstock.core.turns import Turns
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.model import LaneView
from penstock.storage import relay as table
from penstock.storage import stages
from penstock.storage.database import DATABASE_FAULTS, Link
from penstock.storage.relay import Unsent
from penstock.storage.stages import Limits
from penstock.workers.listener import Listener

_BATCHES_AT_ONCE = 3
_HELD_SECONDS, _HOLD_EVERY_SECONDS = 6.0, 2.0
_STAGES_EVERY_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 0.25
_AFTER_A_BUG_SECONDS = 5.0


class Sender:
    """While the broker stores one batch, the next one is read. Owns the connection that notes what was sent."""

    def __init__(self, name: str, *, link: Link, events: Events, failpoints: Failpoints) -> None:
        self._name = name
        self._link = link
        self._events = events
        self._failpoints = failpoints
        self._marking = asyncio.Lock()
        self._sending: deque[asyncio.Task[None]] = deque()
        self._under_way: set[int] = set()
        self._failed = False
        self.sent = 0

    def new(self, rows: Sequence[Unsent]) -> list[Unsent]:
        """Without those that are on their way already."""
        return [row for row in rows if row.task_id not in self._under_way]

    def take_failed(self) -> bool:
        """Whether a batch did not arrive since the last time: its rows were passed by and have to be read again."""
        failed, self._failed = self._failed, False
        return failed

    async def begin(self, transport: Transport, rows: Sequence[Unsent], batch: Sequence[Outgoing]) -> None:
        """Raises what an earlier batch failed with."""
        self._under_way.update(row.task_id for row in rows)
        self._sending.append(asyncio.create_task(self._send(transport, rows, batch)))
        await self.finish(_BATCHES_AT_ONCE - 1)

    async def finish(self, left: int = 0) -> None:
        """Waits until at most ``left`` batches are under way."""
        while len(self._sending) > left:
            first = self._sending[0]
            await asyncio.wait([first])
            self._sending.popleft()
            first.result()

    async def close(self) -> None:
        for sending in self._sending:
            sending.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        self._sending.clear()
        self._link.drop()

    async def _send(self, transport: Transport, rows: Sequence[Unsent], batch: Sequence[Outgoing]) -> None:
        try:
            await transport.publish(batch)
            self._failpoints.hit("after_publish", self._link.drop)
            async with self._marking, self._link.guarded() as connection:
                await table.mark_sent(connection, rows)
        except BaseException:
            self._failed = True
            raise
        finally:
            self._under_way.difference_update(row.task_id for row in rows)
        self.sent += len(rows)
        self._events.emit("messages.sent", transport=self._name, count=len(rows))


class Relay:
    """Of one broker, for every stage that the settings give to it. ``run`` never ends by itself."""

    def __init__(
        self,
        name: str,
        *,
        settings: Settings,
        url: str,
        events: Events,
        failpoints: Failpoints,
        first_ahead: int = FIRST,
    ) -> None:
        """``first_ahead``: most messages of a stage before it is known how fast they are taken."""
        self.name = name
        self._settings = settings
        self._url = url
        self._events = events
        self._failpoints = failpoints
        self._holder = uuid4()
        self._first_ahead = first_ahead
        self._link = Link(settings, url, purpose=f"relay {name}", lock_timeout_ms=500)
        marks = Link(settings, url, purpose=f"relay {name} marks", lock_timeout_ms=500)
        self._sender = Sender(name, link=marks, events=events, failpoints=failpoints)
        self._transport: Transport | None = None
        self._collector = Collector(
            name,
            settings=settings,
            url=url,
            events=events,
            transport=lambda: self._transport if self._held else None,
        )
        self._link_watch = LinkWatch(events, f"relay {name}")
        self._broker_watch = BrokerWatch(events, name)
        self._wake = asyncio.Event()
        self._installation: UUID | None = None
        self._stages: dict[int, BrokerStage] = {}
        self._due: Turns | None = None
        self._depths = Depths(most=settings.relay_ahead, first=first_ahead)
        self._held = False
        self._hold_at = self._stages_at = 0.0

    @property
    def sent(self) -> int:
        return self._sender.sent

    async def run(self) -> None:
        listener: asyncio.Task[None] | None = None
        collecting = asyncio.create_task(self._collector.run())
        empty = 0
        try:
            while True:
                pause = 0.0
                self._wake.clear()
                try:
                    count = await self.run_once()
                    self._link_watch.works()
                except (BrokerAway, BrokerRefused) as error:
                    count, pause = 0, self._broker_watch.failed(error)
                    self._depths.forget()
                    if self._broker_watch.away_seconds > _HELD_SECONDS:
                        await self._let_go()  # another machine may reach it
                except Exception as error:
                    self._held = False
                    if isinstance(error, DATABASE_FAULTS):
                        count, pause = 0, 0.5
                        self._link_watch.lost(error)
                    else:
                        # A bug. Workers go on meanwhile: what nobody announces is claimed from PostgreSQL.
                        count, pause, self._due = 0, _AFTER_A_BUG_SECONDS, self._reader()
                        self._events.emit("duty.failed", duty="relay", error=f"{type(error).__name__}: {error}")
                if listener is None and self._settings.listen and self._stages:
                    listener = asyncio.create_task(self._listener().run())
                empty = 0 if count else empty + 1
                if not count:
                    await self._rest(empty, pause)
        finally:
            beside = [one for one in (listener, collecting) if one is not None]
            for one in beside:
                one.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self.close()

    async def run_once(self) -> int:
        """Publish what is due, a batch at most; returns how many messages went out."""
        async with self._link.guarded() as connection:
            if not await self._is_holder(connection):
                return 0
            await self._read_stages(connection)
        if self._sender.take_failed():
            self._due = self._reader()
        due = self._due
        if due is None:
            return 0
        transport = await self._opened()
        size, before = self._settings.relay_batch, self.sent
        room = await self._depths.room(transport, self._stages.values(), size)
        rows = self._sender.new(await self._unsent(due, room))
        self._depths.sent(rows)
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            await self._sender.begin(transport, batch, [self._outgoing(row, due.priorities) for row in batch])
        if not rows:
            await self._sender.finish()
        if not rows or self.sent > before:  # a broker that is full answers too, and takes nothing
            self._broker_watch.works()
        return len(rows)

    async def _unsent(self, due: Turns, room: Mapping[int, int]) -> list[Unsent]:
        await due.read_lanes(self._link, _unlimited)
        found: list[Unsent] = []
        for look in due.looks(room):
            async with self._link.guarded() as connection:
                look.got = got = await table.unsent(connection, look.wanted, look.room)
            found += got
        return found

    def _reader(self) -> Turns | None:
        """From the front of every lane."""
        return Turns(pipelines={stage.id: stage.pipeline for stage in self._stages.values()}) if self._stages else None

    def _outgoing(self, row: Unsent, priorities: Mapping[int, int]) -> Outgoing:
        assert self._installation is not None
        stage = self._stages[row.stage]
        priority = priorities.get(row.lane, 0)
        trace, span = trace_of(row.trace)
        envelope = Envelope(
            job_id=job_id_of(self._installation, row.task_id),
            type=stage.type,
            task_id=row.task_id,
            lane=row.lane,
            priority=priority,
            attempt=row.attempt + 1,
            max_attempts=row.max_attempts,
            created_at=row.run_at,
            trace_id=trace,
            span_id=span,
        )
        return Outgoing(stage.queue, urgency(priority), envelope.encode())

    async def _is_holder(self, connection: Any) -> bool:
        now = time.monotonic()
        if now >= self._hold_at:
            self._hold_at = now + _HOLD_EVERY_SECONDS
            held = await table.hold(connection, self.name, self._holder, _HELD_SECONDS)
            if held and not self._held:
                self._events.emit("relay.started", transport=self.name)
            self._held = held
        return self._held

    async def _read_stages(self, connection: Any) -> None:
        now = time.monotonic()
        if now < self._stages_at:
            return
        self._stages_at = now + _STAGES_EVERY_SECONDS
        self._installation = await table.installation(connection)
        found = {
            row["id"]: broker_stage(self._settings, self._installation, row["id"], row["pipeline"], row["name"])
            for row in await stages.listing(connection)
            if self._settings.transport_of(row["pipeline"], row["name"]) == self.name
        }
        if found != self._stages:
            self._stages = found
            self._due = self._reader()
            self._depths = Depths(most=self._settings.relay_ahead, first=self._first_ahead)

    async def _opened(self) -> Transport:
        if self._transport is None:
            self._transport = await transports.opened(self.name, self._settings)
        return self._transport

    async def _rest(self, empty: int, least: float) -> None:
        longest = min(_LONGEST_PAUSE_SECONDS, self._settings.poll_max_seconds)
        pause = pause_seconds(
            empty_claims=empty,
            least=min(self._settings.poll_min_seconds, longest),
            most=longest,
            chance=random.random(),
        )
        if not self._held:
            pause = _HOLD_EVERY_SECONDS
        elif (soon := self._depths.full_seconds) is not None:
            pause = soon
        with suppress(TimeoutError):
            async with asyncio.timeout(max(pause, least)):
                if least:
                    await asyncio.sleep(least)
                await self._wake.wait()
        if self._due is not None:
            self._due.forget_dry(told=False)

    def _listener(self) -> Listener:
        pipelines = frozenset(stage.pipeline for stage in self._stages.values())
        return Listener(
            settings=self._settings, url=self._url, pipelines=pipelines, hint=self._hinted, events=self._events
        )

    def _hinted(self, about_everything: bool) -> None:
        if self._due is not None:
            self._due.forget_dry(from_front=about_everything)
        self._wake.set()

    async def close(self) -> None:
        """Another process may take over at once."""
        await self._sender.close()
        await self._let_go()
        if self._transport is not None:
            await self._transport.close()
            self._transport = None
        self._link.drop()

    async def _let_go(self) -> None:
        if self._held:
            self._held = False
            with suppress(Exception):  # the next one waits a few seconds instead
                async with asyncio.timeout(1.0), self._link.guarded() as connection:
                    await table.let_go(connection, self.name, self._holder)


def _unlimited(stage: Limits, lane: LaneView) -> bool:
    """What has a fleet-wide limit is claimed without a broker."""
    return stage.max_running is None and lane.max_running is None


async def run_relays(settings: Settings, url: str, events: Events, failpoints: Failpoints) -> None:
    """A relay for every broker that the settings name."""
    async with asyncio.TaskGroup() as group:
        for name in sorted(settings.brokers):
            relay = Relay(name, settings=settings, url=url, events=events, failpoints=failpoints)
            group.create_task(relay.run(), name=f"penstock-relay-{name}")
