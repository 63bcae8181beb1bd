"""RabbitMQ killed before it has written down that it has a queue: the queue is there afterwards, and answers nobody."""

import asyncio
from typing import Any

import pytest

from penstock.brokers.rabbitmq import channel as amqp_channel
from penstock.brokers.rabbitmq.holding import Holding
from penstock.brokers.transport import BrokerAway, Consumer
from penstock.testing.brokers import RabbitServer
from tests.brokers.brokers import broker, reader, received, send, texts


async def test_consumers_go_on_after_a_kill_soon_after_their_queue_was_made(
    own_rabbit: RabbitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sooner than by itself, and long enough for the five seconds that RabbitMQ takes to delete such a queue.
    monkeypatch.setattr(amqp_channel, "CALL_SECONDS", 6.5)
    place = broker("rabbitmq", own_rabbit.url)
    async with place.opened() as transport:
        consumer = await reader(transport, place.queue)
        own_rabbit.kill()
        with pytest.raises(BrokerAway):
            await consumer.receive(1, 10)
        own_rabbit.start()
        async with asyncio.timeout(60):
            causes = await _away_until_it_answers(consumer)
        for urgency in range(3):
            await send(transport, place.queue, str(urgency), urgency=urgency)
        assert sorted(texts(await received(consumer, 3))) == ["0", "1", "2"]
        if sum("no answer came" in cause for cause in causes) >= 2:
            assert consumer.lost_count >= 1, "what was in it has to be sent again"


async def test_a_queue_that_answers_nobody_twice_is_made_anew_and_counts_as_lost(
    rabbitmq_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, silences, begun = broker("rabbitmq", rabbitmq_url), [True, False, True, True], Holding.start

    async def start(self: Holding, *given: Any) -> None:
        if self.name.endswith(".low") and silences and silences.pop(0):
            raise BrokerAway(transport="rabbitmq", address="here", cause="no answer came")
        await begun(self, *given)

    async with place.opened() as transport:
        monkeypatch.setattr(Holding, "start", start)
        consumer = await reader(transport, place.queue)
        await _away_until_it_answers(consumer)
        assert consumer.lost_count == 0, "once may be a broker that is slow"
        await consumer.close()
        await send(transport, place.queue, "in it", urgency=2)
        again = await reader(transport, place.queue)
        assert len(await _away_until_it_answers(again)) == 1, "the first try was when the consumer was made"
        assert again.lost_count == 1 and await transport.depth(place.queue) == 0
        await send(transport, place.queue, "sent again", urgency=2)
        assert texts(await received(again, 1)) == ["sent again"]
        await transport.remove(place.queue)


async def test_silences_are_counted_over_consumers_that_were_dropped_for_them(
    rabbitmq_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a worker does it: a consumer that says the broker is away is closed, and another one opened."""
    place, silences, begun = broker("rabbitmq", rabbitmq_url), [True, True], Holding.start

    async def start(self: Holding, *given: Any) -> None:
        if self.name.endswith(".low") and silences and silences.pop():
            raise BrokerAway(transport="rabbitmq", address="here", cause="no answer came")
        await begun(self, *given)

    async with place.opened() as transport:
        await send(transport, place.queue, "in it", urgency=2)
        monkeypatch.setattr(Holding, "start", start)
        for _ in range(2):
            dropped = await reader(transport, place.queue)
            assert dropped.lost_count == 0
            await dropped.close()
        again = await reader(transport, place.queue)
        assert again.lost_count == 1 and await transport.depth(place.queue) == 0
        await transport.remove(place.queue)


async def _away_until_it_answers(consumer: Consumer) -> list[str]:
    """What was said meanwhile."""
    causes: list[str] = []
    while True:
        try:
            await consumer.receive(1, 0)
        except BrokerAway as away:
            causes.append(away.cause)
            await asyncio.sleep(0.05)
        else:
            return causes
