"""Discovery between two claims."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from penstock.config import Settings
from penstock.workers.discovery import Discovery


async def _pausing(wake: asyncio.Event) -> None:
    """A discovery that finds nothing, again and again; only the parts that its pause uses are there."""
    settings = Settings(poll_min_seconds=30, poll_max_seconds=60)
    discovery = SimpleNamespace(_paced=False, _settings=settings, _longest_pause_seconds=60.0, _wake=wake)
    while True:
        await Discovery._pause(cast(Discovery, discovery), 0)
        wake.clear()


@pytest.mark.parametrize("turns", range(4))
async def test_a_wake_up_in_the_moment_of_the_stop_does_not_swallow_the_stop(turns: int) -> None:
    """Otherwise the loop goes on, and whoever stops the worker waits for ever."""
    wake = asyncio.Event()
    loop = asyncio.create_task(_pausing(wake))
    for _ in range(3):
        await asyncio.sleep(0)
    wake.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    loop.cancel()
    await asyncio.wait({loop}, timeout=60)
    assert loop.cancelled()
