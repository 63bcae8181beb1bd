"""Both stores of the limiter behind one face: ``take`` of a fleet that has settled on a store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import asyncpg
from redis.asyncio import Redis

from penstock.brokers.redis.budgets import RedisBudgets
from penstock.events import Event, Events
from penstock.limits.budgets import Budgets, PostgresBudgets
from penstock.limits.limiter import Limiters
from penstock.storage import limits
from penstock.storage.limits import Grant
from tests.recorded_grants import RecordedGrants

KEY = "wikidata"


@dataclass
class World:
    """One fleet: a database, perhaps a Redis, and processes that are played by pools of their own."""

    store: str
    database_url: str
    connection: Any
    redis_url: str
    stack: AsyncExitStack
    prefix: str = field(default_factory=lambda: f"test-{uuid4().hex[:8]}")
    events: list[Event] = field(default_factory=list)
    granted: RecordedGrants = field(default_factory=RecordedGrants)

    async def budgets(self) -> Budgets:
        """Of one more process."""
        pool = await self.stack.enter_async_context(
            asyncpg.create_pool(self.database_url, min_size=0, max_size=4, command_timeout=60)
        )
        if self.store == "postgres":
            made: Budgets = PostgresBudgets(pool)
        else:
            made = RedisBudgets(pool, self.redis_url, prefix=self.prefix, events=Events([self.events.append]))
        self.stack.push_async_callback(made.close)
        self.granted.watch(made)
        return made

    async def limiters(self, **options: Any) -> Limiters:
        made = await self.budgets()
        return Limiters(made.known._pool, Events([self.events.append]), budgets=made, **options)

    async def settle(self) -> None:
        """The fleet counts in its store since long ago: no quiet second, no budget that starts empty."""
        if self.store == "redis":
            budgets = await self.budgets()
            assert isinstance(budgets, RedisBudgets)
            assert await budgets.prefer_redis()
            await self.age_move()
            self.events.clear()

    async def age_move(self) -> None:
        await self.connection.execute(
            "update penstock.limiter_store set changed_at = now() - interval '1 hour', unsteady = 0"
        )
        installation = (await limits.store(self.connection)).installation
        async with Redis.from_url(self.redis_url) as redis:
            await redis.set(f"{self.prefix}.{installation[:8]}:limits", "0")

    async def let_pass(self, seconds: float, key: str = KEY) -> None:
        """Time passes for the budget: what it remembers moves into the past."""
        await self.connection.execute(
            "update penstock.limits set tat = tat - $1 * interval '1 second', "
            "blocked_until = blocked_until - $1 * interval '1 second'",
            seconds,
        )
        if self.store == "redis":
            installation = (await limits.store(self.connection)).installation
            name = f"{self.prefix}.{installation[:8]}:limit:{key}"
            async with Redis.from_url(self.redis_url) as redis:
                for part in ("tat", "blocked"):
                    if await redis.hexists(name, part):
                        await redis.hincrby(name, part, -round(seconds * 1e6))

    async def configure(self, rate: float, burst: int = 1) -> None:
        await limits.configure(self.connection, KEY, rate, burst)


async def take(
    budgets: Budgets, weights: list[int], *, ahead_seconds: float = 0.0, heavy_ahead_seconds: float = 0.0
) -> Grant:
    """By a process that has just looked what the limits are."""
    budgets.known.forget()
    return await budgets.take(KEY, weights, ahead_seconds=ahead_seconds, heavy_ahead_seconds=heavy_ahead_seconds)


@asynccontextmanager
async def world_of(store: str, database_url: str, connection: Any, redis_url: str) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        world = World(store=store, database_url=database_url, connection=connection, redis_url=redis_url, stack=stack)
        await world.settle()
        yield world


async def until(condition: Any, seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)
