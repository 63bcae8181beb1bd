"""The brokers: Redis Streams and RabbitMQ. ``opened`` connects to the one a setting names."""

from penstock.config import Settings
from penstock.transport import Transport


def made(name: str, settings: Settings) -> Transport:
    """Not opened yet. Imported late: who uses no broker pays for none."""
    if name == "redis":
        from penstock.transports.redis import RedisTransport

        return RedisTransport(settings)
    from penstock.transports.rabbitmq import RabbitTransport

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
