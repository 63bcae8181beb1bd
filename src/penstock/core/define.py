"""What a developer declares: stages with their policy, and pipelines made of them."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

import orjson

from penstock.core.arguments import Arguments
from penstock.core.context import Context
from penstock.core.payload import TypedJson, returned_by
from penstock.core.retry import RetryPolicy
from penstock.errors import InvalidDefinition, UsageError
from penstock.model import LONGEST_TIMEOUT_SECONDS, seconds

OptionKind = Literal["text", "number", "flag", "order"]
Execution = Literal["async", "thread", "process"]
CheckOptions = Callable[[Mapping[str, Any]], Mapping[str, Any]]
LONGEST_POLL_SECONDS = 3600.0
ANYTHING = TypedJson(Any)
_SHOWN = ("execution", "pool", "order", "batch", "throttle", "poll_seconds", "timeout_seconds", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One field of a form. ``order``: some of ``choices``, in the order in which they are to be taken."""

    name: str
    kind: OptionKind
    label: str
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()


def _no_options() -> Sequence[Option]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """``options`` is asked when somebody looks, since choices may depend on settings.

    ``roles_of`` takes headings and what was given (role → heading, None: no column), and answers role → index.
    ``problems_of`` takes that and the cells of a row, and says what is wrong with them: (role or None, sentence).
    """

    about: str
    roles: Sequence[str] = ()
    options: Callable[[], Sequence[Option]] = _no_options
    roles_of: Callable[[Sequence[str], Mapping[str, Any] | None], Mapping[str, int]] | None = None
    problems_of: Callable[[Mapping[str, int], Sequence[str]], Iterable[tuple[str | None, str]]] | None = None


def is_internal(pipeline: str) -> bool:
    """Whether Penstock enqueues it itself, by its name: the application at hand need not know it."""
    return pipeline.startswith("penstock.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDefinition:
    """A handler and its policy. ``None`` means: what the settings say.

    ``order``: lower ones are served first; without one, the place in the pipeline counts, so earlier stages go first.
    ``batch``: most rows of one claim. ``throttle``: most starts per coordination cycle of a runner.
    ``poll_seconds``: longest pause of an idle worker that serves it, where the settings allow a longer one.
    """

    pipeline: str
    name: str
    position: int
    function: Callable[..., Any]
    arguments: Arguments
    returns: TypedJson
    execution: Execution
    pool: int | None = None
    order: int | None = None
    batch: int | None = None
    throttle: int | None = None
    poll_seconds: float | None = None
    timeout_seconds: float | None = None
    max_attempts: int | None = None
    max_running: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    version: str | None = None

    def __post_init__(self) -> None:
        what = f"Stage {self.pipeline}/{self.name}"
        for label in ("pool", "batch", "throttle", "max_running", "max_attempts"):
            if (value := getattr(self, label)) is not None and value < 1:
                raise InvalidDefinition(what=what, problem=f"{label} = {value} has to be at least 1")
        if self.poll_seconds is not None and not 0 < self.poll_seconds <= LONGEST_POLL_SECONDS:
            raise InvalidDefinition(
                what=what, problem=f"poll = {self.poll_seconds} has to be above 0, and an hour at most"
            )
        if self.timeout_seconds is not None and not 0 < self.timeout_seconds <= LONGEST_TIMEOUT_SECONDS:
            raise InvalidDefinition(
                what=what, problem=f"timeout = {self.timeout_seconds} has to be above 0, and 30 days at most"
            )

    @property
    def served(self) -> int:
        """Where it stands among the stages of a worker."""
        return self.position if self.order is None else self.order

    def policy(self) -> str:
        """What is kept in the stages table for people to read."""
        kept: dict[str, Any] = {name: getattr(self, name) for name in _SHOWN}
        kept["retry"] = {name: getattr(self.retry, name) for name in ("base_seconds", "factor", "cap_seconds")}
        return orjson.dumps(kept).decode()


def define_stage(
    function: Callable[..., Any],
    *,
    pipeline: str,
    name: str,
    position: int,
    isolated: bool = False,
    poll: float | timedelta | None = None,
    timeout: float | timedelta | None = None,
    retry: RetryPolicy | None = None,
    **policy: Any,
) -> StageDefinition:
    """How it is executed follows from the function: async on the loop, sync in a thread, isolated in a process."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidDefinition(what=f"Task {name!r}", problem="a generator cannot be a handler; return a value")
    execution: Execution = "async" if inspect.iscoroutinefunction(function) else "thread"
    if isolated:
        if execution == "async":
            raise InvalidDefinition(
                what=f"Task {name!r}", problem="an isolated task has to be a plain (not async) function"
            )
        execution = "process"
    return StageDefinition(
        pipeline=pipeline,
        name=name,
        position=position,
        function=function,
        arguments=Arguments(name, function, Context),
        returns=returned_by(function),
        execution=execution,
        poll_seconds=None if poll is None else seconds(poll),
        timeout_seconds=None if timeout is None else seconds(timeout),
        retry=retry or RetryPolicy(),
        **policy,
    )


@dataclass(slots=True)
class PipelineDefinition:
    """An ordered list of stages. A plain task is a pipeline of one."""

    name: str
    stages: list[StageDefinition] = field(default_factory=list)
    # The extension that declared it; empty: the application.
    owner: str = ""
    # What its results hold under "columns", in the order people should see them; empty: whatever comes.
    result_columns: tuple[str, ...] = ()
    # Made by code alone: nobody submits jobs of it or edits its inputs.
    internal: bool = False
    # What people are told who bring a file.
    offer: Offer | None = None
    # Refuses options that a job must not have, and answers them with what was left out; called before a job is stored.
    check_options: CheckOptions | None = None

    def add_stage(self, function: Callable[..., Any], name: str, **policy: Any) -> None:
        if any(stage.name == name for stage in self.stages):
            raise InvalidDefinition(what=f"Pipeline {self.name!r}", problem=f"it has two stages called {name!r}")
        self.stages.append(define_stage(function, pipeline=self.name, name=name, position=len(self.stages), **policy))

    @property
    def about(self) -> str:
        """What it is for: the first paragraph of its handler's docstring, where nothing better is told."""
        if self.offer is not None:
            return self.offer.about
        told = inspect.getdoc(self.stages[0].function) if self.stages else None
        return " ".join((told or "").split("\n\n")[0].split())

    def job_metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """What a job is stored with: its options as the pipeline checked them. Without options, those of the settings
        apply when it runs."""
        if self.check_options is None or "options" not in metadata:
            return dict(metadata)
        given = metadata["options"]
        if not isinstance(given, Mapping):
            raise UsageError(f"Invalid options for {self.name!r}: must be an object, not {type(given).__name__}.")
        return {**metadata, "options": {**given, **self.check_options(given)}}

    @property
    def first(self) -> StageDefinition:
        if not self.stages:
            raise InvalidDefinition(what=f"Pipeline {self.name!r}", problem="it has no stage yet")
        return self.stages[0]

    @property
    def returns(self) -> TypedJson:
        """The type of its results: what its last stage returns."""
        return self.stages[-1].returns if self.stages else ANYTHING

    @property
    def takes_rows(self) -> bool:
        """Its tasks are rows of files: a number and the cells."""
        return not self.internal and bool(self.stages) and {"row", "cells"} <= self.first.arguments.names

    @property
    def takes_images(self) -> bool:
        return bool(self.stages) and {"row", "image"} <= self.first.arguments.names
