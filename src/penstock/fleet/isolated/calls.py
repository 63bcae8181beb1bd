"""Handlers that run in a process of their own, seen from the runner.

A fresh interpreter and no fork: a fork would copy threads' locks, connections and the event loop in whatever
state they are. One child per call in flight; a child that ended its call serves the next one. The answer of a
child is data (see ``messages``), its death is :class:`ProcessDied` and concerns the one task it ran.
"""

import asyncio
import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

import orjson

from penstock.core.context import Context
from penstock.core.define import StageDefinition
from penstock.core.run import ProcessDied
from penstock.errors import InvalidDefinition
from penstock.fleet.isolated.messages import Message, value_of
from penstock.fleet.isolated.process import IsolatedProcess, NotBegun

_CALLS_PER_CHILD = 100
_CANCEL_GRACE_SECONDS = 0.5
_MAX_RESULT_BYTES = 16 * 1024 * 1024
# What the context of the handler tells of the task.
_CARRIED = ("task_id", "lease", "attempt", "max_attempts", "run", "job_id", "idempotency_key", "trace", "input")


class Children:
    """The children of one runner, started when needed: never more than calls were in flight at once."""

    def __init__(
        self,
        app_reference: str | None,
        *,
        extensions: Sequence[str] = (),
        max_result_bytes: int = _MAX_RESULT_BYTES,
        calls_per_child: int = _CALLS_PER_CHILD,
        cancel_grace_seconds: float = _CANCEL_GRACE_SECONDS,
    ) -> None:
        self._app_reference = app_reference
        self._extensions = list(extensions)
        self._max_result_bytes = max_result_bytes
        self._calls_per_child = calls_per_child
        self._cancel_grace_seconds = cancel_grace_seconds
        self._numbers = count(1)
        self._idle: list[IsolatedProcess] = []
        self._all: set[IsolatedProcess] = set()

    async def call(self, definition: StageDefinition, context: Context, values: dict[str, Any]) -> Any:
        """Run the handler in a child and return what it returned, or raise what it raised.

        Interrupted while it waits, it does not return before the handler has ended or its process is dead, so
        that a task handed to somebody else never runs twice at the same time.
        """
        if self._app_reference is None or self._app_reference.startswith("__main__:"):
            _require_importable(definition)
        while True:
            child = self._take()
            number = next(self._numbers)
            try:
                answer = await self._answer(child, number, _order(definition, context, number), context)
                return _value(child, answer)
            except NotBegun:
                continue  # it died while nobody needed it; this task has nothing to do with that
            finally:
                self._give_back(child)

    def close(self) -> None:
        """Idle children leave by themselves, busy ones are killed. Returns at once."""
        for child in tuple(self._all):
            if child.busy:
                child.kill()
            else:
                child.retire()
        self._idle.clear()

    @property
    def pids(self) -> Sequence[int]:
        return [child.pid for child in self._all]

    async def _answer(self, child: IsolatedProcess, number: int, order: Message, context: Context) -> Message:
        try:
            return await child.ask(order, context)
        except asyncio.CancelledError:
            answer = await child.interrupt(number, self._cancel_grace_seconds)
            # What it finished counts. An error after the interruption is the interruption's doing.
            if answer is None or answer["kind"] == "error":
                raise
            return answer

    def _take(self) -> IsolatedProcess:
        while self._idle:
            child = self._idle.pop()
            if child.usable:
                return child
        start = {
            "kind": "start",
            "reference": self._app_reference,
            "extensions": self._extensions,
            "path": list(sys.path),
            "max_result_bytes": self._max_result_bytes,
        }
        child = IsolatedProcess(start, self._max_result_bytes, gone=self._all.discard)
        self._all.add(child)
        return child

    def _give_back(self, child: IsolatedProcess) -> None:
        if child.usable and child.calls < self._calls_per_child:
            self._idle.append(child)
        else:
            child.retire()


def _order(definition: StageDefinition, context: Context, number: int) -> Message:
    """The call as a message. Arguments travel as they are stored; only the child makes types of them."""
    claimed = context._claimed
    first = definition.position == 0
    text = claimed.input if first else claimed.earlier.previous or "null"
    function, policy = definition.function, definition.retry
    return {
        "kind": "call",
        "number": number,
        "pipeline": definition.pipeline,
        "stage": definition.name,
        "first": first,
        "values": orjson.Fragment(text.encode()),
        "function": f"{function.__module__}:{function.__qualname__}",
        "permanent": _references(policy.permanent),
        "transient": _references(policy.transient),
        "claimed": {name: getattr(claimed, name) for name in _CARRIED},
    }


def _value(child: IsolatedProcess, answer: Message) -> Any:
    try:
        return value_of(answer)
    except (ValueError, KeyError, TypeError) as error:
        child.kill()
        raise ProcessDied(f"it sent what is no answer ({error}) and was killed") from None


def _references(classes: Sequence[type[BaseException]]) -> list[str]:
    return [f"{one.__module__}:{one.__qualname__}" for one in classes]


def _require_importable(definition: StageDefinition) -> None:
    """Without the application's name the function is found by its own, and not every name can be imported."""
    function = definition.function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    what = f"Stage {definition.pipeline}/{definition.name}"
    if module in (None, "__main__"):
        problem = (
            f"an isolated handler is imported by a process of its own, and {name} belongs to the program"
            f" that was started ({module}), which cannot be imported; move it to a module"
        )
        raise InvalidDefinition(what=what, problem=problem)
    if "<" in name or not name:
        problem = (
            f"an isolated handler is imported by a process of its own, and {module}.{name} has no name there;"
            " define it at the top of a module, or start the worker with --app module:name"
        )
        raise InvalidDefinition(what=what, problem=problem)
