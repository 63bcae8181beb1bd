"""Acquires of a limiter, as tests make them."""

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

from penstock.limits.limiter import Limiter

_Result = TypeVar("_Result")


async def soon(work: Awaitable[_Result]) -> _Result:
    """A minute only catches what hangs."""
    return await asyncio.wait_for(work, 60)


async def moments(limiter: Limiter, count: int) -> list[float]:
    """When each of these acquires, one after the other, was let through."""
    seen = []
    for _ in range(count):
        async with limiter:
            seen.append(time.monotonic())
    return seen
