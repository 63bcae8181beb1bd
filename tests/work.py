"""How much a piece of code does, counted in calls: the same on every machine, which seconds are not."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, TypeVar

_Result = TypeVar("_Result")


def calls_of(work: Callable[[], Any]) -> int:
    """Calls of Python and of C that this work makes in the current thread."""
    count = 0

    def noted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(noted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


async def most_calls_at_once(work: Awaitable[_Result]) -> tuple[_Result, int]:
    """The result, and the most calls that the event loop's thread made without letting anything else run."""
    count = most = 0
    turn = asyncio.Handle._run.__code__

    def noted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count, most
        if event == "call" and frame.f_code is turn:
            count = 0
        elif event in ("call", "c_call"):
            count += 1
            most = max(most, count)

    before = sys.getprofile()
    sys.setprofile(noted)
    try:
        return await work, most
    finally:
        sys.setprofile(before)
