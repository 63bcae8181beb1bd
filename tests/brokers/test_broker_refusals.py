"""What every broker refuses or cannot take, and how that is told."""

import pytest

from penstock.brokers.transport import BrokerAway, BrokerRefused, Outgoing
from penstock.testing.brokers import free_port
from tests.brokers.brokers import reader, send


async def test_a_batch_of_which_a_part_cannot_be_stored_raises(place, transport):
    await place.fill(place.queue)
    with pytest.raises((BrokerRefused, BrokerAway)):
        # A quorum queue notices a moment later that it is full.
        for _ in range(200):
            await transport.publish([Outgoing(place.queue, number % 3, b"half way") for number in range(60)])


async def test_a_queue_of_the_wrong_kind_is_refused_with_a_next_step(place, transport):
    await place.spoil(place.queue)
    with pytest.raises(BrokerRefused) as caught:
        consumer = await reader(transport, place.queue)
        await consumer.receive(1, 60)
    assert "PENSTOCK_BROKER_PREFIX" in str(caught.value)


async def test_a_wrong_port_is_a_broker_away(place):
    elsewhere = place.transport(place.with_port(free_port()))
    with pytest.raises(BrokerAway) as caught:
        await elsewhere.open()
    assert str(caught.value).startswith(f"The broker {place.name} at ")
    with pytest.raises(BrokerAway):
        await send(elsewhere, place.queue, "nowhere")
    consumer = await reader(elsewhere, place.queue)
    with pytest.raises(BrokerAway):
        await consumer.receive(1, 60)
    await elsewhere.close()


async def test_a_wrong_password_is_refused_and_not_shown(place):
    stranger = place.transport(place.with_password("s3cret-word"))
    with pytest.raises(BrokerRefused) as caught:
        await stranger.open()
    assert "s3cret-word" not in str(caught.value)
    assert f"PENSTOCK_{place.name.upper()}_URL" in str(caught.value)
    await stranger.close()
