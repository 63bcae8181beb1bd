"""The application as the engine sees it. There is one: :class:`penstock.application.Penstock`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

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


class App(ABC):
    """A class and not a protocol: what a reference on the command line names is checked against it."""

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
    @abstractmethod
    def settings(self) -> Settings: ...

    @property
    @abstractmethod
    def waiter(self) -> "Waiter": ...

    @property
    @abstractmethod
    def counted_in_redis(self) -> "Counts": ...

    @abstractmethod
    def use(self, settings: Settings, events: Events, *, registers: bool = True) -> None: ...

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def database_url(self) -> str: ...

    @abstractmethod
    def connection(self) -> AbstractAsyncContextManager[Any]: ...

    @abstractmethod
    def add_stage(
        self, pipeline: "PipelineDefinition", function: Callable[..., Any], name: str, policy: Mapping[str, Any]
    ) -> None: ...

    @abstractmethod
    async def enqueue(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> "Task[Any]": ...

    @abstractmethod
    async def store(
        self,
        pipeline: "PipelineDefinition",
        values: Mapping[str, Any],
        options: "EnqueueOptions",
        connection: Any = None,
    ) -> "Task[Any]": ...

    @abstractmethod
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

    @abstractmethod
    def task_by_id(self, task_id: int) -> "Task[Any]": ...

    @abstractmethod
    def hint_due(self, pipeline: str) -> bool: ...

    @abstractmethod
    def on_side_loop(self, work: "Callable[[App], Coroutine[Any, Any, Value]]") -> Value: ...

    @abstractmethod
    async def wake_all(self) -> None: ...
