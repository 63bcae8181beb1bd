"""The brokers of a bench: those that the settings name, or servers of its own where the programs are installed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from penstock.config import Settings
from penstock.errors import UsageError
from penstock.testing.brokers import KINDS, Server


@asynccontextmanager
async def brokers(settings: Settings, folder: Path, tell: Callable[[str], None]) -> AsyncIterator[dict[str, str]]:
    """Address by transport. Own servers are on private ports, with their data on disk, and gone afterwards."""
    given = {"redis": settings.redis_url, "rabbitmq": settings.rabbitmq_url}
    urls: dict[str, str] = {}
    started: list[Server] = []
    try:
        for name, kind in KINDS.items():
            if (url := given[name]) is not None:
                urls[name] = url.get_secret_value()
            elif kind.installed():
                tell(f"starting a {kind.name} of its own")
                own: Server = kind(folder / name)
                started.append(own)
                await asyncio.to_thread(own.start)
                urls[name] = own.url
        if not urls:
            raise UsageError(
                "There is no broker to measure. Set PENSTOCK_REDIS_URL or PENSTOCK_RABBITMQ_URL, or install"
                " redis-server and rabbitmq-server (Debian: apt-get install redis-server rabbitmq-server)."
            )
        yield urls
    finally:
        for server in started:
            await asyncio.to_thread(server.dispose)
