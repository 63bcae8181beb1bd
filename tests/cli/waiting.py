"""Waiting for a condition, with a deadline and a reason."""

import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], bool], *, what: str, seconds: float = 60, log: Callable[[], str] = lambda: ""
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come within {seconds:g} s\n{log()}")
        time.sleep(0.02)
