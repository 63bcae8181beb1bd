"""Dotted paths into JSON: ``offers[0].price``. A path is data; nothing is evaluated."""

import re
from typing import Any

from penstock.errors import UsageError

Step = str | int
_STEP = re.compile(r"\.?([^.\[\]\s]+)|\[(\d{1,6})\]")
_LONGEST = 500


def parse(path: str) -> tuple[Step, ...]:
    """The steps, names and positions; raises where the path cannot be understood."""
    steps: list[Step] = []
    text, at = path.strip(), 0
    while at < len(text) <= _LONGEST:
        found = _STEP.match(text, at)
        if found is None or (found[1] and bool(steps) != text[at:].startswith(".")):
            break
        steps.append(found[1] if found[1] is not None else int(found[2]))
        at = found.end()
    if not steps or at < len(text):
        raise UsageError(f"{path[:80]!r} is no path into JSON. Write names and positions, such as offers[0].price.")
    return tuple(steps)


def value_at(data: Any, steps: tuple[Step, ...]) -> Any:
    """None where the path leads nowhere."""
    for step in steps:
        if isinstance(step, int):
            data = data[step] if isinstance(data, list) and step < len(data) else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
        if data is None:
            return None
    return data
