"""What handlers use while they run: threads, child processes, the limiter, transactions, progress."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from penstock.brokers.budgets import budgets_of
from penstock.config import Settings
from penstock.core import job_counts
from penstock.core.context import Context, Transaction
from penstock.core.define import StageDefinition
from penstock.core.payload import decode
from penstock.core.run import decide_value
from penstock.core.settle import tell_advanced, tell_finished
from penstock.core.stage import Stage
from penstock.errors import DatabaseError, PermanentError, StaleLease, ThrottledError, TransactionLost
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.fleet.isolated.calls import Children
from penstock.limits.limiter import Limiter, Limiters
from penstock.model import Advance, Claimed, Finish, Release
from penstock.storage import checkpoints, database, queue, tasks

_CONNECTIONS = 20
_OWN_CONNECTIONS = 4
_JOBS_KEPT = 1000


@dataclass(kw_only=True, eq=False)
class Facilities:
    """Opened and closed with the runner. The :class:`penstock.core.run.Runtime` of its stages."""

    settings: Settings
    url: str
    worker: int
    stages: Mapping[int, Stage]
    events: Events
    failpoints: Failpoints
    app_reference: str | None
    extensions: Sequence[str] = ()
    reported: dict[int, dict[str, Any]] = field(default_factory=dict)
    _threads: ThreadPoolExecutor | None = None
    _limiters: Limiters | None = None
    _pool: database.Pool | None = None
    _own: database.Pool | None = None
    # Of the jobs whose tasks run here: a handler may ask for every row. It never changes, so a process asks once.
    _metadata: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._children = Children(
            self.app_reference, extensions=self.extensions, max_result_bytes=self.settings.max_result_bytes
        )

    async def open(self) -> None:
        self._pool = await database.pool(self.settings, self.url, purpose="handlers", size=_CONNECTIONS, lent=True)
        # Not the handlers' pool: one that holds all its connections in transactions may still ask for a permit.
        self._own = await database.pool(self.settings, self.url, purpose="runner", size=_OWN_CONNECTIONS)
        budgets = budgets_of(self.settings, self._own, self.events)
        await budgets.open()
        self._limiters = Limiters(self._own, self.events, budgets=budgets)
        threads = sum(stage.pool for stage in self.stages.values() if stage.definition.execution == "thread")
        self._threads = ThreadPoolExecutor(max_workers=max(threads, 1), thread_name_prefix="penstock-handler")

    async def close(self) -> None:
        """Threads that still run a handler are left to it: nobody can end a thread."""
        self._children.close()
        if self._limiters is not None:
            await self._limiters.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        for pool in (self._pool, self._own):
            if pool is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(pool.close(), 2.0)
                pool.terminate()

    @property
    def pool(self) -> database.Pool:
        """For the engine's own questions."""
        assert self._own is not None
        return self._own

    def limiter(self, key: str, lane: int) -> Limiter:
        assert self._limiters is not None
        return self._limiters.of(key, lane)

    async def job_metadata(self, job_id: int) -> Mapping[str, Any]:
        found = self._metadata.get(job_id)
        if found is None:
            async with self.pool.acquire() as connection:
                found = await job_counts.metadata_of(connection, job_id)
            if len(self._metadata) >= _JOBS_KEPT:
                self._metadata.pop(next(iter(self._metadata)))
            self._metadata[job_id] = found
        return found

    async def result_of(self, task_id: int, stage: str) -> Any:
        async with self._asking() as connection:
            return decode(await checkpoints.of_stage(connection, task_id, stage))

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Any]:
        """A question on a handler's behalf: a database that is away is not the handler's fault."""
        with database.translated(self.url):
            async with self.pool.acquire() as connection:
                yield connection

    async def fetch_earlier(self, claimed: Claimed) -> None:
        origin = self.stages[claimed.stage].origin
        async with self._asking() as connection:
            await checkpoints.earlier(connection, [claimed], [origin], most_bytes=checkpoints.ANY_SIZE)

    async def begin(self, claimed: Claimed) -> None:
        async with self._asking() as connection:
            if not await queue.begin(connection, claimed.task_id, claimed.lease, self.worker):
                raise StaleLease(task_id=claimed.task_id, lease=claimed.lease)

    async def left_for(self, claimed: Claimed) -> float:
        """A database that is away takes no settlement either: how long it was does not matter then."""
        with suppress(DatabaseError):
            async with self._asking() as connection:
                return await tasks.left_seconds(connection, claimed.task_id, claimed.run)
        return 0.0

    async def throttled(self, error: ThrottledError) -> None:
        assert self._limiters is not None
        await self._limiters.penalise_for(error)

    def progress(self, claimed: Claimed, done: float, total: float | None, note: str) -> None:
        self.reported[claimed.task_id] = {"done": done, "total": total, "note": note}

    @asynccontextmanager
    async def transaction(self, context: Context) -> AsyncIterator[Transaction]:
        """The app's writes and the settlement in one transaction; a stale lease rolls both back, and so does a
        result that cannot be stored."""
        claimed = context._claimed
        stage = self.stages[claimed.stage]
        async with self._in_transaction() as connection:
            transaction = Transaction(connection)
            yield transaction
            stage.definition.returns.encode(transaction.result, what="result", limit_bytes=stage.max_result_bytes)
            settlement = decide_value(claimed, stage, transaction.result)
            if isinstance(settlement, Release):
                raise PermanentError(
                    "the result of ctx.transaction() was a Snooze, or a NotFound that looks again, which ends nothing;"
                    " return the Snooze or the NotFound instead"
                )
            await self._settle(connection, context, settlement)
            self.failpoints.hit("during_transaction")
        if isinstance(settlement, Finish):
            tell_finished(self.events, [settlement])
        else:
            tell_advanced(self.events, [settlement], {claimed.task_id: False})

    @asynccontextmanager
    async def _in_transaction(self) -> AsyncIterator[Any]:
        """Tells a connection that went away, which is nobody's fault, from whatever the handler did with it."""
        assert self._pool is not None
        async with AsyncExitStack() as borrowed:
            try:
                connection = await borrowed.enter_async_context(self._pool.acquire())
            except Exception as error:
                if not database.passing(error):
                    raise
                raise TransactionLost(began=False, cause=database.told(error)) from error
            try:
                async with connection.transaction():
                    yield connection
            except Exception as error:
                if not (_is_gone(connection) or isinstance(error, database.REFUSED)):
                    raise
                raise TransactionLost(began=True, cause=database.told(error)) from error

    async def _settle(self, connection: Any, context: Context, settlement: Finish | Advance) -> None:
        if isinstance(settlement, Finish):
            current = await queue.finish(connection, self.worker, [settlement])
        else:
            current = len(await queue.advance(connection, self.worker, [settlement]))
        if not current:
            raise context.stale()

    def in_thread(self, function: Callable[..., Any], args: tuple[Any, ...], values: dict[str, Any]) -> Awaitable[Any]:
        assert self._threads is not None
        return asyncio.get_running_loop().run_in_executor(self._threads, lambda: function(*args, **values))

    def in_process(self, definition: StageDefinition, context: Context, values: dict[str, Any]) -> Awaitable[Any]:
        return self._children.call(definition, context, values)


def _is_gone(connection: Any) -> bool:
    """The pool takes a dead connection back by itself; what is left of it cannot be asked any more."""
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        return True
