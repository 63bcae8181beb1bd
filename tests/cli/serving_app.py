"""Tasks for the tests of `penstock worker` and `penstock up`."""

import asyncio
import os

from penstock import Context, Penstock

app = Penstock("serving")


@app.task()
async def add(a: int, b: int) -> int:
    return a + b


@app.task()
async def linger(ctx: Context, seconds: float) -> int:
    """Does not hurry when it is asked to stop."""
    await asyncio.sleep(seconds)
    return ctx.attempt


@app.task()
async def process() -> int:
    return os.getpid()
