"""Runs one handler and decides what its end means. Writes nothing: the settlement is written by ``settle``."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from penstock.core.arguments import Arguments
from penstock.core.context import Context, Surroundings
from penstock.core.define import StageDefinition
from penstock.core.payload import clean_text, decode, encode
from penstock.core.retry import ErrorClass, Relayed, RetryPolicy, Verdict, classify, describe, waited
from penstock.core.stage import Stage
from penstock.core.tracing import Call, traced, tracing_enabled
from penstock.errors import (
    InvalidArguments,
    NotStorable,
    PayloadTooLarge,
    PermanentError,
    StaleLease,
    ThrottledError,
    TransactionLost,
)
from penstock.lifecycle import VERSION_SKEW, State
from penstock.model import (
    LONGEST_SECONDS,
    Advance,
    Cancel,
    Claimed,
    Done,
    Ending,
    Finish,
    NotFound,
    Release,
    Settlement,
    Skip,
    Snooze,
    seconds,
)
from penstock.storage.database import AWAY

_MAX_ERROR_BYTES = 64 * 1024
_MAX_PROBLEM_BYTES = 16 * 1024


class DeadlinePassed(Exception):
    """Set by the pool when a run takes longer than its stage allows."""

    def __init__(self, after_seconds: float) -> None:
        super().__init__(f"the handler was still running after its timeout of {after_seconds:g} s")


class ProcessDied(Exception):
    """Raised where a handler has a process of its own and that process died."""

    def __init__(self, how: str) -> None:
        super().__init__(f"the process of the handler died: {how}")


class StopAsked(Exception):
    """Set by the pool when somebody cancelled the task."""


class HandBack(Exception):
    """Set by the pool when the worker stops before the handler ended."""


class Runtime(Surroundings, Protocol):
    """What a runner does for its runs: where sync and isolated handlers run, and what has to be asked or told."""

    def in_thread(
        self, function: Callable[..., Any], args: tuple[Any, ...], values: dict[str, Any]
    ) -> Awaitable[Any]: ...

    def in_process(self, definition: StageDefinition, context: Context, values: dict[str, Any]) -> Awaitable[Any]: ...

    async def begin(self, claimed: Claimed) -> None:
        """Notes that a task begins which was rescued before; a lease that is not current any more is a StaleLease."""

    async def fetch_earlier(self, claimed: Claimed) -> None:
        """Fills in what a task begins with, where that was too large to come with the claim."""

    async def left_for(self, claimed: Claimed) -> float:
        """How many seconds ago it was left for another release for the first time."""

    async def throttled(self, error: ThrottledError) -> None:
        """Before anybody else calls: slows the shared limiter for all workers."""


class RunningStage:
    """What changes of a stage while a runner serves it, and how its handler is called."""

    __slots__ = ("call", "held_up", "retry_spacing", "runtime", "stage")

    def __init__(self, stage: Stage, runtime: Runtime) -> None:
        self.stage = stage
        self.runtime = runtime
        call = _call_of(stage.definition, runtime)
        self.call = traced(call, stage.definition) if tracing_enabled() else call
        # Above 1 while most runs of the stage fail: whatever they need gets time to recover.
        self.retry_spacing = 1.0
        # The key of the limiter that sent its last throttled task back, and when; for people who ask why it is slow.
        self.held_up: tuple[str, float] | None = None


def _call_of(definition: StageDefinition, runtime: Runtime) -> Call:
    """On the loop, in a thread, or in a process of its own."""
    function, takes_context = definition.function, definition.arguments.takes_context
    if definition.execution == "async":
        if takes_context:
            return lambda context, values: function(context, **values)
        return lambda context, values: function(**values)
    if definition.execution == "thread":
        return lambda context, values: runtime.in_thread(function, (context,) if takes_context else (), values)
    return lambda context, values: runtime.in_process(definition, context, values)


def arguments_of(claimed: Claimed, arguments: Arguments) -> dict[str, Any]:
    """Decode the stored input for the handler. A row nobody can read fails its own task, not the batch."""
    try:
        stored = decode(claimed.input)
    except ValueError as error:
        raise PermanentError(f"the stored input cannot be read: {error}") from None
    if not isinstance(stored, dict):
        raise PermanentError(f"the stored input is {type(stored).__name__}, a handler takes an object of arguments")
    return stored if arguments.plain else arguments.revive(stored)


async def run(claimed: Claimed, running: RunningStage, context: Context | None) -> Settlement | None:
    """One run, from stored input to settlement. None: the handler settled itself in ``ctx.transaction()``."""
    stage = running.stage
    try:
        if claimed.rescues:
            await running.runtime.begin(claimed)
        if claimed.earlier.deferred:
            await running.runtime.fetch_earlier(claimed)
        if claimed.earlier.reusable_from is not None:
            # The same input and the same code gave this before: no need to run it.
            return _done(claimed, stage, claimed.earlier.reusable, claimed.earlier.reusable_from)
        arguments = stage.definition.arguments
        if stage.first:
            values = arguments_of(claimed, arguments)
        else:
            previous = decode(claimed.earlier.previous)
            values = arguments.from_previous(claimed.earlier.previous, previous)
            if context is not None:
                context.previous = previous
        value = await running.call(context, values)
    except StaleLease:
        # Where that is true this release will not match; where it is not, the task must not hang.
        return Release(*claimed.leased, cause="stale", delay_seconds=1.0)
    except Exception as error:
        if isinstance(error, ThrottledError):
            if key := getattr(error, "limiter", None) or error.key:
                running.held_up = (key, time.monotonic())
            await running.runtime.throttled(error)
        if stage.first and (problem := misfit(claimed, stage.definition.arguments, error)) is not None:
            left_seconds = await running.runtime.left_for(claimed)
            if left_seconds < stage.skew_seconds:
                return left(claimed, problem, left_seconds)
            error = PermanentError(
                f"the input does not fit the handler of any worker that claimed it: {problem}."
                " Edit the input and replay it"
            )
        if context is not None and context.ended:
            return None
        return decide_error(claimed, stage, error, running.retry_spacing)
    return None if context is not None and context.ended else decide_value(claimed, stage, value)


def decide_value(claimed: Claimed, stage: Stage, value: Any) -> Settlement:
    """What a returned value means."""
    if value is not None and isinstance(value, Ending):
        match value:
            case Done():
                value = value.value
            case NotFound():
                return _not_found(claimed, stage, value)
            case Skip():
                return _finish(claimed, State.SKIPPED, reason=value.reason)
            case Cancel():
                return _finish(claimed, State.CANCELLED, reason=value.reason)
            case Snooze():
                delay = seconds(value.delay)
                if not 0 <= delay <= LONGEST_SECONDS:
                    return _bad_delay(claimed, stage, f"Snooze({value.delay!r})")
                return Release(*claimed.leased, cause="snooze", delay_seconds=delay, error=_reason(value.reason))
    try:
        kind, most_bytes = stage.definition.returns, stage.max_result_bytes
        result = None if value is None else kind.encode(value, what="result", limit_bytes=most_bytes)
    except (NotStorable, PayloadTooLarge) as error:
        return decide_error(claimed, stage, error)
    return _done(claimed, stage, result)


def _done(claimed: Claimed, stage: Stage, result: str | None, reused_from: int | None = None) -> Settlement:
    """The end of the task, or of its stage. ``reused_from``: the run that gave the same for the same input."""
    if stage.next_stage is None:
        # The hot path: no tuple in between.
        return Finish(claimed.task_id, claimed.lease, claimed.stage, State.DONE, result, None, stage.version)
    return Advance(
        *claimed.leased,
        next_stage=stage.next_stage,
        result=result,
        version=stage.version,
        hashed=stage.hashed,
        reused_from=reused_from,
    )


def _not_found(claimed: Claimed, stage: Stage, value: NotFound) -> Settlement:
    """Another look while there are tries, else the end. Tries of the task in all are the limit of both kinds."""
    if value.again_after is None:
        return _finish(claimed, State.NOT_FOUND, reason=value.reason)
    delay = seconds(value.again_after)
    if not 0 <= delay <= LONGEST_SECONDS:
        return _bad_delay(claimed, stage, f"NotFound(again_after={value.again_after!r})")
    if claimed.attempt + 1 >= min(stage.max_attempts_not_found, claimed.max_attempts):
        return _finish(claimed, State.NOT_FOUND, reason=value.reason)
    return Release(*claimed.leased, cause="not_found", delay_seconds=delay, burned=True, error=_reason(value.reason))


def _bad_delay(claimed: Claimed, stage: Stage, asked: str) -> Settlement:
    problem = f"the handler asked for {asked}; 0 seconds to 10 years are possible"
    return decide_error(claimed, stage, PermanentError(problem))


def decide_error(claimed: Claimed, stage: Stage, error: BaseException, spacing: float = 1.0) -> Settlement:
    """What an exception means: another try, a wait, or the end. ``spacing`` puts retries off while most runs fail."""
    if isinstance(error, StopAsked):
        return _finish(claimed, State.CANCELLED, reason=str(error) or "cancelled while it ran")
    if isinstance(error, HandBack):
        return Release(*claimed.leased, cause="hand back")
    policy = stage.definition.retry
    if isinstance(error, ProcessDied):
        return _crashed(claimed, policy, error)
    if isinstance(error, (TransactionLost, *AWAY)):
        return _interrupted(claimed, policy, error)
    verdict = Verdict(kind=ErrorClass.TIMEOUT) if isinstance(error, DeadlinePassed) else classify(error, policy)
    described = _described(error, verdict.kind)
    if verdict.kind is ErrorClass.THROTTLED:
        return Release(
            *claimed.leased, cause="throttled", delay_seconds=verdict.retry_after_seconds or 1.0, error=described
        )
    attempt = claimed.attempt + 1
    if verdict.kind is ErrorClass.PERMANENT or attempt >= claimed.max_attempts:
        return Finish(*claimed.leased, State.ERROR, None, described)
    delay = policy.delay_seconds(attempt, verdict.kind)
    if spacing > 1:
        delay = max(delay, min(delay * spacing, policy.cap_seconds))
    return Release(
        *claimed.leased,
        cause="retry" if verdict.kind is not ErrorClass.TIMEOUT else "timeout",
        delay_seconds=max(delay, verdict.retry_after_seconds or 0.0),
        burned=True,
        error=described,
    )


def _crashed(claimed: Claimed, policy: RetryPolicy, error: ProcessDied) -> Release:
    """Always given back: whether it crashed too often is decided where crashes are counted, in the database."""
    return Release(
        *claimed.leased,
        cause="crash",
        delay_seconds=policy.delay_seconds(claimed.attempt + 1, ErrorClass.CRASH),
        burned=True,
        crashed=True,
        error=_described(error, ErrorClass.CRASH),
    )


def _interrupted(claimed: Claimed, policy: RetryPolicy, error: BaseException) -> Release:
    """The database's fault: no attempt is burned. A statement that ends its connection every time must end as well,
    so a loss inside the block counts as a rescue, and the delay grows with those: an outage of seconds must not use
    them up."""
    return Release(
        *claimed.leased,
        cause="database",
        delay_seconds=policy.delay_seconds(claimed.attempt + claimed.rescues + 1),
        rescued=error.began if isinstance(error, TransactionLost) else True,
        error=_described(error, ErrorClass.TRANSIENT),
    )


def _described(error: BaseException, kind: ErrorClass) -> str:
    return encode(describe(error, kind), what="error", limit_bytes=_MAX_ERROR_BYTES)


def _finish(claimed: Claimed, status: State, *, reason: str) -> Finish:
    return Finish(*claimed.leased, status, None, _reason(reason))


def _reason(reason: str) -> str | None:
    return encode({"message": clean_text(str(reason))}, what="reason", limit_bytes=_MAX_ERROR_BYTES) if reason else None


def misfit(claimed: Claimed, arguments: Arguments, error: Exception) -> str | None:
    """Why the handler could not be called, where that is what the error of a first stage means."""
    if not isinstance(error, TypeError | InvalidArguments | Relayed):
        return None
    try:
        stored = decode(claimed.input)
    except ValueError:
        return None
    return arguments.misfit(stored) if isinstance(stored, dict) else None


def left(claimed: Claimed, problem: str, left_seconds: float) -> Release:
    """A task whose stored input does not fit the handler here is left for a worker of another release.

    ``enqueue`` checks every input, so one that does not fit was stored by a newer or an older release, or by SQL.
    Python refuses such a call before the first line of the handler: nothing has happened yet, and the task can wait.
    ``left_seconds``: since it was left for the first time."""
    described = {"type": "VersionSkew", "message": clean_text(problem, 2000)}
    return Release(
        *claimed.leased,
        cause=VERSION_SKEW,
        delay_seconds=waited(left_seconds),
        error=encode(described, what="reason", limit_bytes=_MAX_PROBLEM_BYTES),
    )
