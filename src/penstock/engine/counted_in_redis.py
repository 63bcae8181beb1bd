"""Limits as Redis counts them, for those who look at them and steer them. One client per application.

Redis is imported late: who has none pays for none.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.engine.budgets import redis_url
from penstock.storage import limits
from penstock.storage.limits import LimitView
from penstock.transport import BrokerAway, BrokerRefused

if TYPE_CHECKING:
    from penstock.engine.app import Penstock
    from penstock.transports.redis_limits import Left, RedisLimits


class CountedInRedis:
    """Belongs to one application and its event loop. A Redis that does not answer, or that these settings do not name,
    is no error here: PostgreSQL tells the processes within a second."""

    def __init__(self, app: "Penstock") -> None:
        self._app = app
        self._client: RedisLimits | None = None

    async def standings(self, views: Sequence[LimitView]) -> "list[Left] | None":
        """None: Redis does not tell."""
        client = await self._connected()
        if client is None:
            return None
        from penstock.transports.redis_limits import Told

        told = [
            Told(key=one.key, version=one.version, since=one.since, rate=one.rate, burst=one.burst) for one in views
        ]
        try:
            return await client.standings(told)
        except (BrokerAway, BrokerRefused):
            return None

    async def tell(self, key: str) -> None:
        """After a change was stored: where Redis counts, the fleet goes by it at once."""
        async with self._app.connection() as connection:
            [known] = await limits.known(connection, [key])
        client = await self._connected() if known.store == "redis" else None
        if client is None:
            return
        from penstock.engine.redis_budgets import told

        try:
            await client.tell(told(known))
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
        from penstock.engine.redis_budgets import names_begin_with
        from penstock.transports.redis_limits import RedisLimits

        async with self._app.connection() as connection:
            installation = (await limits.store(connection)).installation
        if self._client is None:
            prefix = names_begin_with(self._app.settings.broker_prefix, installation)
            self._client = RedisLimits(url, prefix=prefix)
        return self._client
