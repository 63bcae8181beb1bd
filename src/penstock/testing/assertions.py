"""What was enqueued, as an assertion whose message says what was enqueued instead."""

import inspect
from typing import Any

from penstock.application import Penstock
from penstock.core.background import Enqueueable
from penstock.core.context import Context
from penstock.core.handles import Task
from penstock.core.payload import decode, encode
from penstock.errors import UsageError
from penstock.model import MAX_INPUT_BYTES
from penstock.testing import statements as table

_SHOWN = 20


async def assert_enqueued(app: Penstock, task: Enqueueable[Any, Any] | str, /, **arguments: Any) -> Task[Any]:
    """There is a task of this kind whose input has at least these arguments, ended or not; returns the newest."""
    name, found = await _matching(app, task, arguments)
    if not found:
        raise AssertionError(f"No {name} was enqueued{_with(arguments)}. {await _instead(app, name)}")
    return Task(app, found[0], pipeline=app.pipelines.get(name))


async def assert_not_enqueued(app: Penstock, task: Enqueueable[Any, Any] | str, /, **arguments: Any) -> None:
    name, found = await _matching(app, task, arguments)
    if found:
        listed = ", ".join(str(task_id) for task_id in found[:_SHOWN])
        raise AssertionError(f"{len(found)} × {name} enqueued{_with(arguments)}: task {listed}.")


async def _matching(
    app: Penstock, task: Enqueueable[Any, Any] | str, arguments: dict[str, Any]
) -> tuple[str, list[int]]:
    name = task if isinstance(task, str) else task.name
    if (pipeline := app.pipelines.get(name)) is not None:
        parameters = inspect.signature(pipeline.first.function).parameters
        known = {name for name, parameter in parameters.items() if parameter.annotation is not Context}
        is_open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        if not is_open and (unknown := set(arguments) - known):
            raise UsageError(f"{name} has no argument {sorted(unknown)[0]!r}; it takes {', '.join(sorted(known))}.")
    wanted = encode(arguments, what="expected arguments", limit_bytes=MAX_INPUT_BYTES)
    async with app.connection() as connection:
        return name, await table.enqueued_with(connection, name, wanted)


def _with(arguments: dict[str, Any]) -> str:
    return " with " + ", ".join(f"{name}={value!r}" for name, value in arguments.items()) if arguments else ""


async def _instead(app: Penstock, name: str) -> str:
    async with app.connection() as connection:
        recent = await table.recent(connection, _SHOWN)
    if not recent:
        return "Nothing was enqueued at all."
    same = [row for row in recent if row["pipeline"] == name]
    lines = [
        f"  {row['pipeline']}({', '.join(f'{key}={value!r}' for key, value in decode(row['input']).items())})"
        f" → {row['state']}"
        for row in same or recent
    ]
    return f"Enqueued {'were' if same else 'were only others'}:\n" + "\n".join(lines)
