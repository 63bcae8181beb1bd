"""The application as the engine sees it, and how functions on it become methods of an object that has one. There is one
application: :class:`penstock.application.Penstock`.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache, partial, update_wrapper
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from penstock.config import Settings
from penstock.events import Events
from penstock.extension import Extension
from penstock.storage.migrate import Migration

if TYPE_CHECKING:
    from penstock.core.define import PipelineDefinition
    from penstock.core.enqueue import Callback, EnqueueOptions
    from penstock.core.handles import Task, Waiter
    from penstock.core.jobs import Job
    from penstock.storage.limits import LimitView


Value = TypeVar("Value")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Connection = Any


class Standing(Protocol):
    """Of one key. ``available`` None: it is not limited."""

    @property
    def available(self) -> float | None: ...

    @property
    def blocked_seconds(self) -> float: ...


class Counts(Protocol):
    """Where limits are counted outside of PostgreSQL."""

    async def standings(self, views: "Sequence[LimitView]") -> "Sequence[Standing] | None":
        """In the order of the views. None: it does not tell."""

    async def tell(self, key: str) -> None:
        """After a change was stored."""


class App(Protocol):
    """Its one implementation names it as a base: by that a reference on the command line is checked."""

    name: str
    events: Events
    pipelines: "dict[str, PipelineDefinition]"
    # Those that are installed, by name, and their migrations.
    extensions: dict[str, Extension]
    migrations: tuple[Migration, ...]
    # By pipeline and stage; of those that are registered.
    stage_ids: dict[tuple[str, str], int]
    registers: bool

    @property
    def settings(self) -> Settings: ...

    @property
    def waiter(self) -> "Waiter": ...

    @property
    def counted_in_redis(self) -> "Counts": ...

    def use(self, settings: Settings, events: Events, *, registers: bool = True) -> None: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def database_url(self) -> str: ...

    def connection(self) -> AbstractAsyncContextManager[Any]: ...

    async def enqueue(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> "Task[Any]": ...

    async def store(
        self,
        pipeline: "PipelineDefinition",
        values: Mapping[str, Any],
        options: "EnqueueOptions",
        connection: Any = None,
    ) -> "Task[Any]": ...

    async def store_many(
        self,
        pipeline: "PipelineDefinition",
        rows: Iterable[Mapping[str, Any]],
        options: "EnqueueOptions",
        *,
        name: str | None,
        metadata: Mapping[str, Any],
        connection: Any = None,
        callback: "Callback | None" = None,
    ) -> "Job": ...

    def task_by_id(self, task_id: int) -> "Task[Any]": ...

    def hint_due(self, pipeline: str) -> bool: ...

    def on_side_loop(self, work: "Callable[[App], Coroutine[Any, Any, Value]]") -> Value: ...

    async def wake_all(self) -> None: ...


class Noun:
    """Functions about one kind of object, with the application filled in."""

    __slots__ = ("app",)

    def __init__(self, app: App) -> None:
        self.app = app


class OfApp(Generic[Given, Answer]):
    """``pause = OfApp(jobs.pause)`` in a ``Noun`` is a method: a function whose first argument is the application."""

    def __init__(self, function: Callable[Concatenate[App, Given], Answer]) -> None:
        self.function = function

    def __get__(self, noun: Noun, kind: type[Noun]) -> Callable[Given, Answer]:
        return _method(partial(self.function, noun.app), self.function)


class OfDatabase(Generic[Given, Answer]):
    """The same for a function whose first argument is a connection: one of the application's pool, for this call."""

    def __init__(self, function: Callable[Concatenate[Connection, Given], Coroutine[Any, Any, Answer]]) -> None:
        self.function = function

    def __get__(self, noun: Noun, kind: type[Noun]) -> Callable[Given, Coroutine[Any, Any, Answer]]:
        async def ask(*args: Given.args, **options: Given.kwargs) -> Answer:
            async with noun.app.connection() as connection:
                return await self.function(connection, *args, **options)

        return _method(ask, self.function)


def _method(made: Callable[Given, Answer], function: Callable[..., Any]) -> Callable[Given, Answer]:
    """With the name, the text and the remaining parameters of the function: what ``help`` shows."""
    made = update_wrapper(made, function)
    made.__dict__["__signature__"] = _without_first(function)
    return made


@cache
def _without_first(function: Callable[..., Any]) -> Signature:
    whole = signature(function)
    return whole.replace(parameters=list(whole.parameters.values())[1:])
