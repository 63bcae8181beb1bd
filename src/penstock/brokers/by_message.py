"""Claims the tasks that messages announce. The message only names a task; who gets it is decided in PostgreSQL.

A stage that has heard nothing for longer than the settings allow is claimed like all others until messages come again:
so an absent broker, a relay that nobody runs, and a lost message cost a short delay at most.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from penstock import brokers as transports
from penstock.brokers.feed import Announced, Feed
from penstock.brokers.stage_transports import BrokerStage, broker_stage
from penstock.brokers.transport import Consumer, Transport
from penstock.config import Settings
from penstock.core.stage import Stage
from penstock.events import Events
from penstock.model import Claimed
from penstock.storage import queue, relay
from penstock.storage.database import Link, passing

_BATCH = 10_000
# A task that nobody has and that cannot be claimed is tried again: after 20, 40, 60 ms.
_TRIES, _AGAIN_SECONDS = 3, 0.02


def broker_of(settings: Settings, stages: Iterable[Stage]) -> dict[int, str]:
    """The broker of each stage that has one."""
    chosen = {stage.id: settings.transport_of(stage.definition.pipeline, stage.definition.name) for stage in stages}
    return {stage: name for stage, name in chosen.items() if name != "postgres"}


class ByMessage:
    """Of one runner. ``announced`` may be asked at any time; the rest from ``open`` on."""

    def __init__(
        self,
        *,
        settings: Settings,
        stages: Mapping[int, Stage],
        link: Link,
        worker: int,
        events: Events,
    ) -> None:
        self._settings = settings
        self._stages = stages
        self._link = link
        self._worker = worker
        self._events = events
        self._broker_of = broker_of(settings, stages.values())
        self._transports: dict[str, Transport] = {}
        self._opening = asyncio.Lock()
        self._feeds: dict[int, Feed] = {}
        self._bypassed: set[int] = set()
        self._pool: Any = None

    @property
    def announced(self) -> set[int]:
        """The stages whose tasks messages announce now."""
        return self._broker_of.keys() - self._bypassed

    def shown(self, stage: int) -> dict[str, Any]:
        """For the heartbeat. ``silent_seconds``: nothing came, which is no fault where nothing is to be done;
        ``away_seconds``: the broker does not answer, or refuses."""
        feed = self._feeds.get(stage)
        if stage not in self._broker_of or feed is None:
            return {"transport": self._broker_of.get(stage, "postgres")}
        told: dict[str, Any] = {
            "transport": self._broker_of[stage],
            "queue": feed.stage.queue,
            "bypassed": stage in self._bypassed,
            "silent_seconds": round(feed.silent_seconds, 1),
            "away_seconds": round(feed.watch.away_seconds, 1),
        }
        if feed.watch.problem is not None:
            told |= {
                "problem": feed.watch.problem,
                "next_step": feed.watch.next_step,
                "refused": feed.watch.refused,
            }
        return told

    async def open(
        self, pool: Any, *, window: Callable[[int], int], arrived: Callable[[], None]
    ) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        """The loops that have to run, by name. ``pool``: for questions beside the claims. ``window``: how many messages
        of a stage are worth holding. ``arrived``: there is something to claim."""
        self._pool = pool
        async with pool.acquire() as connection:
            installation = await relay.installation(connection)
        loops: list[tuple[str, Coroutine[Any, Any, None]]] = []
        for stage, name in self._broker_of.items():
            definition = self._stages[stage].definition
            feed = Feed(
                stage=broker_stage(self._settings, installation, stage, definition.pipeline, definition.name),
                installation=installation,
                consume=self._consume,
                window=partial(self._worth_holding, window, stage),
                events=self._events,
                arrived=arrived,
                emptied=self._send_again,
                transport=name,
            )
            self._feeds[stage] = feed
            loops += [(f"messages-{stage}", feed.run()), (f"acknowledge-{stage}", feed.acknowledge())]
        return loops

    async def claim(self, room: Mapping[int, int]) -> list[Claimed]:
        """Of what is announced, up to ``room[stage]`` of each stage, in the order of the messages."""
        self._judge()
        taken = {stage: self._feeds[stage].take(count) for stage, count in room.items() if stage in self._feeds}
        announced = [one for of_stage in taken.values() for one in of_stage]
        if not announced:
            return []
        ids = [one.task_id for one in announced]
        try:
            async with self._link.guarded() as connection:
                claimed = await queue.claim_by_id(connection, ids, self._worker, stages=list(taken), unlimited=True)
                ours = {one.task_id: one for one in claimed}
                left = await self._left(connection, [one for one in announced if one.task_id not in ours])
        except BaseException:
            for stage, of_stage in taken.items():
                self._feeds[stage].put_back(of_stage)
            raise
        for stage, of_stage in taken.items():
            self._keep(self._feeds[stage], of_stage, ours, left)
        return [ours[task_id] for task_id in dict.fromkeys(ids) if task_id in ours]

    async def _left(self, connection: Any, unclaimed: Sequence[Announced]) -> set[int]:
        """Those that may be had in a moment. The others are gone, somebody has them, or they have to wait: paused, put
        off, limited. Of the last ones the relay decides anew when to announce them."""
        if not unclaimed:
            return set()
        waiting = await relay.waiting(connection, [one.task_id for one in unclaimed])
        given_up = [one.task_id for one in unclaimed if one.task_id in waiting and one.tries >= _TRIES]
        if given_up:
            await relay.unsend(connection, given_up)
        return waiting - set(given_up)

    def _keep(self, feed: Feed, announced: Sequence[Announced], ours: Mapping[int, Claimed], left: set[int]) -> None:
        for one in announced:
            if one.task_id in ours:
                feed.hold(one.task_id, one.message)
        feed.dismiss([one.message for one in announced if one.task_id not in ours and one.task_id not in left])
        if again := [one for one in announced if one.task_id in left and one.task_id not in ours]:
            feed.later(again, _AGAIN_SECONDS * (1 + again[0].tries))

    def rest(self) -> None:
        """Nothing can be started here for a while."""
        for feed in self._feeds.values():
            feed.rest()

    def resume(self) -> None:
        for feed in self._feeds.values():
            feed.resume()

    def settled(self, task_ids: Sequence[int]) -> None:
        for feed in self._feeds.values():
            feed.settled(task_ids)

    async def close(self) -> None:
        """What was received and not claimed goes back to the broker."""
        for feed in self._feeds.values():
            await feed.close()
        for transport in self._transports.values():
            await transport.close()

    # ---------------------------------------------------------------- the broker

    def _judge(self) -> None:
        """A stage that hears nothing looks for itself: the broker may be away, or the relay, or a message lost. As soon
        as messages come, they are enough again."""
        patience = self._settings.broker_patience_seconds
        for stage, feed in self._feeds.items():
            if (feed.silent_seconds > patience) == (stage in self._bypassed):
                continue
            if stage in self._bypassed:
                self._bypassed.discard(stage)
            else:
                self._bypassed.add(stage)
                if feed.watch.away_seconds:
                    away = round(feed.watch.away_seconds, 1)
                    self._events.emit(
                        "broker.bypassed", transport=self._broker_of[stage], stage=feed.stage.type, away_seconds=away
                    )

    def _worth_holding(self, window: Callable[[int], int], stage: int) -> int:
        return max(1, min(window(stage), self._settings.broker_prefetch))

    async def _consume(self, stage: BrokerStage, prefetch: int) -> Consumer:
        name = self._broker_of[stage.id]
        async with self._opening:  # the feeds of several stages come at the same time
            if name not in self._transports:
                self._transports[name] = await transports.opened(name, self._settings)
        return await self._transports[name].consumer(
            stage.queue,
            name=f"worker-{self._worker}",
            prefetch=prefetch,
            idle_seconds=max(self._settings.lease_seconds * 3, 30.0),
        )

    async def _send_again(self, stage: int) -> None:
        """The broker lost the queue. Without the database that is left to the sweeper."""
        self._events.emit("broker.lost", transport=self._broker_of[stage], stage=self._stages[stage].label)
        try:
            async with self._pool.acquire() as connection:
                while await relay.resend_stage(connection, stage, batch=_BATCH) == _BATCH:
                    await asyncio.sleep(0)
        except Exception as error:
            if not passing(error):
                raise
