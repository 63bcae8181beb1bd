"""How much the relay sends ahead, by what the broker says."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.brokers.relay_depths import Depths
from penstock.brokers.stage_transports import BrokerStage
from penstock.storage.relay import Unsent

STAGE = BrokerStage(id=1, pipeline="mail", type="mail", queue="mail")


@dataclass
class Broker:
    """``waiting``: what it says when it is asked."""

    waiting: int = 0
    now: float = 100.0

    async def depth(self, queue: str) -> int:
        return self.waiting

    def clock(self) -> float:
        return self.now


def _rows(count: int) -> list[Unsent]:
    row = Unsent(
        task_id=1,
        lease=None,
        stage=STAGE.id,
        lane=1,
        run_at=datetime.now(UTC),
        attempt=0,
        max_attempts=3,
        trace=None,
    )
    return [row] * count


async def _room(depths: Depths, broker: Broker) -> int:
    """At the next look."""
    broker.now += 0.3
    transport: Any = broker
    return (await depths.room(transport, [STAGE], 10_000))[STAGE.id]


async def test_batches_that_failed_are_not_taken_for_what_workers_took():
    broker = Broker()
    depths = Depths(most=5000, first=500, clock=broker.clock)
    assert await _room(depths, broker) == 500
    for _ in range(4):
        depths.sent(_rows(50))
        depths.forget()  # none of them arrived
        assert await _room(depths, broker) == 500


async def test_what_workers_take_slowly_makes_the_relay_send_less_ahead():
    broker = Broker()
    depths = Depths(most=5000, first=500, clock=broker.clock)
    assert await _room(depths, broker) == 500
    depths.sent(_rows(500))
    for waiting in (490, 480, 470, 460):
        broker.waiting = waiting
        await _room(depths, broker)
    assert await _room(depths, broker) < 0


async def test_workers_that_empty_the_queue_are_sent_twice_as_much():
    broker = Broker()
    depths = Depths(most=5000, first=500, clock=broker.clock)
    room = await _room(depths, broker)
    for _ in range(3):
        depths.sent(_rows(room))
        broker.waiting = 0
        room = await _room(depths, broker)
    assert room > 1000
