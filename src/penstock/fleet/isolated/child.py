"""The process of isolated handlers: one call after the other, each in the main thread.

Started as ``python -m penstock.fleet.isolated.child FD PARENT LIMIT``. It only speaks through its
socket: standard output is the runner's standard error, so that a ``print`` is seen and breaks nothing.
"""

import faulthandler
import inspect
import io
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NoReturn

import orjson

from penstock.core.context import Context
from penstock.core.define import PipelineDefinition, StageDefinition, define_stage
from penstock.core.loading import resolve
from penstock.core.payload import clean_text
from penstock.core.retry import ErrorClass, RetryPolicy, Verdict, classify, describe
from penstock.errors import InvalidDefinition, InvalidSetting, UsageError
from penstock.fleet.channel import die_with, leave_signals_to_the_parent
from penstock.fleet.isolated.messages import Message, Unframer, frame_limit, pack, pack_error, pack_value
from penstock.limits.limiter import Limiter
from penstock.model import Claimed

_READ_BYTES = 64 * 1024


class Away:
    """The surroundings of a context whose runner is another process."""

    def __init__(self, link: "Link") -> None:
        self._link = link

    def limiter(self, key: str, lane: int) -> Limiter:
        raise _unavailable(f"ctx.limiter({key!r})")

    def transaction(self, context: Context) -> NoReturn:
        raise _unavailable("ctx.transaction()")

    async def job_metadata(self, job_id: int) -> NoReturn:
        raise _unavailable("ctx.job_metadata()")

    async def result_of(self, task_id: int, stage: str) -> NoReturn:
        raise _unavailable("ctx.result_of()")

    def progress(self, claimed: Claimed, done: float, total: float | None, note: str) -> None:
        told = {"done": float(done), "total": None if total is None else float(total)}
        self._link.send(pack({"kind": "progress", "note": clean_text(str(note), 1000), **told}))


class IsolatedContext(Context):
    """Refuses ``transaction()`` when it is called: entering it would need an event loop."""

    __slots__ = ()

    def transaction(self) -> NoReturn:
        raise _unavailable("ctx.transaction()")


def _unavailable(what: str) -> UsageError:
    return UsageError(
        f"{what} is not available in an isolated handler, which has a process of its own and no connection"
        " of the worker. Declare the task without isolated=True, or split it in two stages."
    )


class Link:
    """The socket to the runner. A thread reads, so that a cancel is seen while the handler runs, and so that
    the end of the runner is the end of this process."""

    def __init__(self, channel: socket.socket, limit_bytes: int) -> None:
        self._channel = channel
        self._limit_bytes = limit_bytes
        self._sending = threading.Lock()
        self._changing = threading.Lock()
        self._context: Context | None = None
        self._number = 0
        self._busy = False
        self._calls: SimpleQueue[Message | None] = SimpleQueue()
        self._cancelled: set[int] = set()

    def start(self) -> None:
        threading.Thread(target=self._read, name="penstock-link", daemon=True).start()

    def next_call(self) -> Message | None:
        """None: the runner does not need this process any more."""
        return self._calls.get()

    def send(self, frame: bytes) -> None:
        with self._sending:
            self._channel.sendall(frame)

    def begin(self, number: int, context: Context) -> None:
        with self._changing:
            self._context, self._number = context, number
            context.cancelled = number in self._cancelled

    def end(self) -> None:
        with self._changing:
            self._context = None
            self._busy = False
            self._cancelled.clear()

    def _read(self) -> None:
        unframer = Unframer(self._limit_bytes)
        with suppress(OSError):
            while data := self._channel.recv(_READ_BYTES):
                for message in unframer.feed(data):
                    self._take(message)
        with self._changing:
            busy = self._busy
        if busy:
            # Nobody waits for the answer: the runner died. Whatever the handler started goes as well.
            os.killpg(0, signal.SIGKILL)
        self._calls.put(None)

    def _take(self, message: Message) -> None:
        with self._changing:
            if message["kind"] == "cancel":
                self._cancelled.add(message["number"])
                if self._context is not None and self._number == message["number"]:
                    self._context.cancelled = True
                return
            self._busy = message["kind"] == "call"
        self._calls.put(message)


class Calls:
    """Finds handlers, calls them, and answers."""

    def __init__(self, link: Link, start: Message) -> None:
        self._link = link
        self._reference: str | None = start["reference"]
        self._extensions: list[str] = start["extensions"]
        self._max_result_bytes: int = start["max_result_bytes"]
        self._away = Away(link)
        self._known: dict[tuple[str, str], StageDefinition] = {}

    def serve(self, call: Message) -> bool:
        """False when this process should not be used again."""
        definition: StageDefinition | None = None
        try:
            try:
                definition = self._definition(call)
                answer, spent = self._run(definition, call), False
            except Exception as error:
                # A handler that was not found may be there after a deployment; memory is better given back.
                spent = definition is None or isinstance(error, MemoryError)
                answer = _answer(error, definition, spent=spent)
            except BaseException as error:
                # sys.exit() in a handler ends the handler, not the worker.
                spent = True
                answer = _answer(error, definition, spent=spent)
        finally:
            self._link.end()
        with suppress(OSError):  # the runner is gone: reading finds that out as well
            self._link.send(answer)
        return not spent

    def _run(self, definition: StageDefinition, call: Message) -> bytes:
        context = self._context(call)
        arguments = definition.arguments
        values = call["values"]
        if call["first"]:
            values = values if arguments.plain else arguments.revive(values)
        else:
            context.previous = values
            values = arguments.from_previous(orjson.dumps(values).decode(), values)
        self._link.begin(call["number"], context)
        self._link.send(pack({"kind": "begun"}))
        value = definition.function(*((context,) if arguments.takes_context else ()), **values)
        return pack_value(value, definition.returns, max_result_bytes=self._max_result_bytes)

    def _context(self, call: Message) -> Context:
        claimed = Claimed.of(**call["claimed"])
        return IsolatedContext(claimed, self._away)

    def _definition(self, call: Message) -> StageDefinition:
        key = (call["pipeline"], call["stage"])
        if key not in self._known:
            find = self._by_function if self._reference is None else self._in_application
            self._known[key] = find(call)
        return self._known[key]

    def _in_application(self, call: Message) -> StageDefinition:
        assert self._reference is not None
        application = resolve(self._reference)
        pipelines = getattr(application, "pipelines", None)
        if not isinstance(pipelines, dict):
            raise InvalidSetting("app", self._reference, f"it is {type(application).__name__}, not an application")
        while self._extensions:
            install: Any = resolve(self._extensions.pop(0))
            install(application)
        pipeline: PipelineDefinition | None = pipelines.get(call["pipeline"])
        for definition in pipeline.stages if pipeline is not None else ():
            if definition.name == call["stage"]:
                return definition
        problem = f"{self._reference} does not know it in a fresh process; declare it when its module is imported"
        raise InvalidDefinition(what=f"Stage {call['pipeline']}/{call['stage']}", problem=problem)

    def _by_function(self, call: Message) -> StageDefinition:
        """Without a reference to the application: the function from its module, policy from the runner."""
        what = f"Stage {call['pipeline']}/{call['stage']}"
        try:
            function = resolve(call["function"])
        except InvalidSetting as error:
            problem = f"its function cannot be imported in a process of its own ({error})"
            raise InvalidDefinition(what=what, problem=problem) from None
        if not callable(function):
            raise InvalidDefinition(what=what, problem=f"{call['function']} is {type(function).__name__}, no function")
        policy = RetryPolicy(permanent=_classes(call["permanent"]), transient=_classes(call["transient"]))
        return define_stage(
            inspect.unwrap(function),
            pipeline=call["pipeline"],
            name=call["stage"],
            position=0,
            isolated=True,
            retry=policy,
        )


def _classes(references: list[str]) -> tuple[type[BaseException], ...]:
    """A class that cannot be imported here cannot have been raised here either."""
    found: list[type[BaseException]] = []
    for reference in references:
        with suppress(InvalidSetting, ImportError):
            one = resolve(reference)
            if isinstance(one, type) and issubclass(one, BaseException):
                found.append(one)
    return tuple(found)


def _answer(error: BaseException, definition: StageDefinition | None, *, spent: bool) -> bytes:
    """The error, judged by the stage's own policy while its class is at hand."""
    policy = RetryPolicy() if definition is None else definition.retry
    try:
        verdict = classify(error, policy)
        return pack_error(describe(error, verdict.kind), verdict, spent=spent)
    except Exception as second:
        # An exception whose own __str__ or attributes raise: its name has to do.
        verdict = Verdict(kind=ErrorClass.TRANSIENT)
        name = type(error).__qualname__
        told = {"type": name, "message": f"it cannot be shown: {type(second).__qualname__}", "where": None}
        return pack_error({**told, "class": verdict.kind.value, "traceback": None}, verdict, spent=spent)


def main(fd: int, parent: int, max_result_bytes: int) -> None:
    die_with(parent)
    leave_signals_to_the_parent()
    faulthandler.enable()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What was printed before a crash is what one looks for after it.
        sys.stdout.reconfigure(line_buffering=True)
    os.set_inheritable(fd, False)
    link = Link(socket.socket(fileno=fd), frame_limit(max_result_bytes))
    link.start()
    start = link.next_call()
    if start is None:
        return
    sys.path.extend(path for path in start["path"] if path not in sys.path)
    calls = Calls(link, start)
    while (call := link.next_call()) is not None:
        if not calls.serve(call):
            return


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))
