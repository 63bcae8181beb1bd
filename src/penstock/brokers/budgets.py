"""Limits where the settings have them counted. Redis is imported late: who has none pays for none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.config import Settings
from penstock.core.app import App
from penstock.events import Events
from penstock.limits.budgets import Budgets, PostgresBudgets, redis_url
from penstock.storage import limits
from penstock.storage.limits import LimitView

if TYPE_CHECKING:
    from penstock.brokers.redis.limits import Left, RedisLimits


def budgets_of(settings: Settings, pool: Any, events: Events) -> Budgets:
    """For workers."""
    url = redis_url(settings)
    if url is None:
        return PostgresBudgets(pool, events=events)
    from penstock.brokers.redis.budgets import RedisBudgets

    return RedisBudgets(pool, url, prefix=settings.broker_prefix, events=events)


class CountedInRedis:
    """For those who look at limits and steer them. Belongs to one application and its event loop. A Redis that does not
    answer, or that these settings do not name, is no error here: PostgreSQL tells the processes within a second."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._client: RedisLimits | None = None

    async def standings(self, views: Sequence[LimitView]) -> "list[Left] | None":
        """None: Redis does not tell."""
        client = await self._connected()
        if client is None:
            return None
        try:
            return await client.standings(views)
        except (BrokerAway, BrokerRefused):
            return None

    async def tell(self, key: str) -> None:
        """After a change was stored: where Redis counts, the fleet goes by it at once."""
        async with self._app.connection() as connection:
            [known] = await limits.known(connection, [key])
        client = await self._connected() if known.store == "redis" else None
        if client is None:
            return
        try:
            await client.tell(known)
        except (BrokerAway, BrokerRefused):
            return

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> "RedisLimits | None":
        url = redis_url(self._app.settings)
        if url is None or self._client is not None:
            return self._client
        from penstock.brokers.redis.budgets import names_begin_with
        from penstock.brokers.redis.limits import RedisLimits

        async with self._app.connection() as connection:
            installation = (await limits.store(connection)).installation
        if self._client is None:
            prefix = names_begin_with(self._app.settings.broker_prefix, installation)
            self._client = RedisLimits(url, prefix=prefix)
        return self._client
