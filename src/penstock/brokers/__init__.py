"""The brokers: Redis Streams and RabbitMQ. ``opened`` connects to the one a setting names."""

from penstock import extras
from penstock.brokers.transport import Transport
from penstock.config import Settings


def made(name: str, settings: Settings) -> Transport:
    """Not opened yet. Imported late: who uses no broker pays for none."""
    extras.require(name, f"The broker {name!r}")
    if name == "redis":
        from penstock.brokers.redis.transport import RedisTransport

        return RedisTransport(settings)
    from penstock.brokers.rabbitmq.transport import RabbitTransport

    return RabbitTransport(settings)


async def opened(name: str, settings: Settings) -> Transport:
    """Raises ``BrokerAway`` or ``BrokerRefused``, and leaves nothing behind then."""
    transport = made(name, settings)
    try:
        await transport.open()
    except BaseException:
        await transport.close()
        raise
    return transport
