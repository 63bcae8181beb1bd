"""A stored task, as its caller holds it after an enqueue, and what people do with tasks: cancel, and run again."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from penstock import lifecycle
from penstock.core.app import App
from penstock.core.define import is_internal
from penstock.core.outage import NoAnswerInTime, Outage
from penstock.core.payload import Mismatch, decode, short
from penstock.errors import NotKnown, NotRepeated, TaskFailed, TaskNotFound, UnreadableResult, UsageError, WaitTimeout
from penstock.lifecycle import State
from penstock.storage import outcomes, queue, reads, stages, tasks
from penstock.storage.dead_letters import DeadLetter
from penstock.storage.reads import TaskRow

if TYPE_CHECKING:
    from penstock.core.define import PipelineDefinition


Result = TypeVar("Result")
Answer = TypeVar("Answer")

_FIRST_LOOK_SECONDS = 0.005
_LONGEST_LOOK_SECONDS = 0.25


class Task(Generic[Result]):
    """A stored task. ``created`` is False when a key led to one that was there already."""

    __slots__ = ("_app", "_pipeline", "created", "id")

    def __init__(
        self, app: App, task_id: int, created: bool = True, pipeline: "PipelineDefinition | None" = None
    ) -> None:
        self._app = app
        self._pipeline = pipeline
        self.id = task_id
        self.created = created

    def __repr__(self) -> str:
        return f"<Task {self.id}>"

    async def state(self) -> State:
        row = await self._get()
        return State[row["state"]]

    async def details(self) -> dict[str, Any]:
        """Everything stored about it: input, position, outcome, and the history of its runs."""
        row = await self._get()
        async with self._app.connection() as connection:
            row["history"] = await tasks.history(connection, self.id)
        return row

    async def result(self, timeout: float | None = None) -> Result:
        """Wait for the end, through restarts of the database. DONE gives the value as the task's function is annotated,
        where this application declares it; everything else raises :class:`TaskFailed`."""
        status, result, error = await self._outcome(timeout)
        if status != State.DONE:
            raise TaskFailed(task_id=self.id, status=State(status).name, error=decode(error))
        return cast(Result, await self._typed(result, timeout))

    async def wait(self, timeout: float | None = None) -> tuple[State, Any, dict[str, Any] | None]:
        """Wait for the end, whatever it is: (state, result, error), as they are stored."""
        status, result, error = await self._outcome(timeout)
        return State(status), decode(result), decode(error)

    async def cancel(self, by: str = "api") -> State:
        """CANCELLED when it ended at once, PROCESSING when its worker was asked to stop."""
        return await cancel(self._app, self.id, by=by)

    async def reprocess(self, *, by: str = "api", from_stage: str | None = None, reset_attempts: bool = True) -> None:
        """Run a finished task again; its outcome goes into the history."""
        await reprocess(self._app, [self.id], by=by, from_stage=from_stage, reset_attempts=reset_attempts)

    async def _outcome(self, timeout: float | None) -> tuple[int, str | None, str | None]:
        return await self._app.waiter.wait(self.id, timeout)

    async def _typed(self, stored: str | None, timeout: float | None) -> Any:
        if self._pipeline is None and any(not known.returns.plain for known in self._app.pipelines.values()):
            row = await self._app.waiter.ask(self.id, self._get, timeout)
            self._pipeline = self._app.pipelines.get(row["pipeline"])
        if self._pipeline is None or self._pipeline.returns.plain:
            return decode(stored)
        kind = self._pipeline.returns
        try:
            return kind.load(stored)
        except Mismatch as error:
            raise UnreadableResult(
                task_id=self.id,
                task=self._pipeline.name,
                annotation=kind.name,
                problem=str(error),
                stored=short(decode(stored), 200),
            ) from None

    async def _get(self) -> dict[str, Any]:
        async with self._app.connection() as connection:
            row = await tasks.get(connection, self.id)
        if row is None:
            raise TaskNotFound(self.id)
        return row


class Waiter:
    """Looks for many awaited outcomes with one query; quick at first, then less often. While the database is away it
    goes on looking: the tasks go on, too."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._waiting: dict[int, list[asyncio.Future[tuple[int, str | None, str | None]]]] = {}
        self._loop: asyncio.Task[None] | None = None
        self._pause = _FIRST_LOOK_SECONDS
        self._outage: Outage | None = None

    async def wait(self, task_id: int, timeout: float | None) -> tuple[int, str | None, str | None]:
        await self._app.open()  # a database that was never there is not away, but wrong
        future: asyncio.Future[tuple[int, str | None, str | None]] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(task_id, []).append(future)
        self._pause = _FIRST_LOOK_SECONDS
        if self._loop is None or self._loop.done():
            self._loop = asyncio.get_running_loop().create_task(self._look())
        try:
            return await asyncio.wait_for(future, timeout)
        except TimeoutError:
            if self._outage is not None and self._outage.problem is not None:
                raise _too_late(task_id, timeout, unreachable=self._outage.problem) from None
            state = await self.ask(task_id, Task[Any](self._app, task_id).state, timeout)
            raise _too_late(task_id, timeout, state=state.name) from None
        finally:
            futures = self._waiting.get(task_id, [])
            if future in futures:
                futures.remove(future)
            if not futures:
                self._waiting.pop(task_id, None)

    async def ask(
        self, task_id: int, question: Callable[[], Coroutine[Any, Any, Answer]], timeout: float | None
    ) -> Answer:
        """After a wait. Where that had an end, the answer has to come at once."""
        outage = await self._watched()
        try:
            return await outage.ask(question, None if timeout is None else time.monotonic())
        except NoAnswerInTime as error:
            raise _too_late(task_id, timeout, unreachable=str(error)) from None

    async def _watched(self) -> Outage:
        if self._outage is None:
            self._outage = Outage(self._app.events, "results", await self._app.database_url())
        return self._outage

    async def _look(self) -> None:
        """Ends when nobody waits."""
        looks = 0
        outage = await self._watched()
        while self._waiting:
            try:
                await self._look_once(check_existence=looks % 20 == 1)
                outage.answered()
                pause, self._pause = self._pause, min(self._pause * 1.5, _LONGEST_LOOK_SECONDS)
                looks += 1
            except Exception as error:
                try:
                    pause = outage.failed(error)
                except Exception as fatal:
                    self._fail(fatal)
                    return
            await asyncio.sleep(pause)

    async def _look_once(self, *, check_existence: bool) -> None:
        asked = list(self._waiting)
        async with self._app.connection() as connection:
            found = await tasks.outcomes_of(connection, asked)
            missing = set(asked) - set(found)
            there = await tasks.existing(connection, sorted(missing)) if check_existence and missing else missing
        for task_id, outcome in found.items():
            for future in self._waiting.get(task_id, []):
                if not future.done():
                    future.set_result(outcome)
        for task_id in missing - set(there):
            for future in self._waiting.get(task_id, []):
                if not future.done():
                    future.set_exception(TaskNotFound(task_id))

    def _fail(self, error: Exception) -> None:
        for futures in self._waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
        self._fail(
            UsageError("The application was closed while a result was awaited. Close it after the last `await`.")
        )


def _too_late(task_id: int, timeout: float | None, **found: str) -> WaitTimeout:
    return WaitTimeout(subject=f"Task {task_id}", seconds=timeout or 0.0, ask=f"penstock tasks why {task_id}", **found)


async def cancel(app: App, task_id: int, *, by: str) -> State:
    """CANCELLED when it ended at once, PROCESSING when its worker was asked to stop."""
    async with app.connection() as connection:
        ended, asked = await queue.cancel(connection, task_id, by)
        if not ended and not asked:
            state = await _state(connection, task_id)
            lifecycle.require("cancel", state, f"task {task_id}")
            return state
    if asked:
        return State.PROCESSING
    app.events.emit("tasks.cancelled", count=1, tasks=[task_id], by=by)
    return State.CANCELLED


async def reprocess(
    app: App, task_ids: Sequence[int], *, by: str, from_stage: str | None = None, reset_attempts: bool = True
) -> list[int]:
    """Run finished tasks again; their outcomes go into the history.

    One that is missing or not finished is told before anything starts. Returns those that start: somebody else may
    have been quicker with the others.
    """
    async with app.connection() as connection:
        await require_all(connection, task_ids, "reprocess", from_stage=from_stage)
        started = await outcomes.reprocess(
            connection,
            task_ids,
            statuses=lifecycle.move("reprocess").origins,
            by=by,
            from_stage=from_stage,
            reset_attempts=reset_attempts,
        )
        if task_ids and not started:
            lifecycle.require("reprocess", await _state(connection, task_ids[0]), f"task {task_ids[0]}")
    await tell_reprocessed(app, started, by=by)
    return started


async def require_all(connection: object, task_ids: Sequence[int], move: str, *, from_stage: str | None = None) -> None:
    """Every task is there, no part of an action on others, and in a state that allows the move; its pipeline has the
    stage to start from."""
    rows = await reads.task_rows(connection, task_ids)
    for task_id in task_ids:
        if task_id not in rows:
            raise TaskNotFound(task_id)
        if is_part_of_action(rows[task_id]):
            raise NotRepeated(f"Task {task_id} is a part of an action")
        lifecycle.require(move, rows[task_id].state, f"task {task_id}")
    for pipeline in sorted({row.pipeline for row in rows.values()}):
        await require_stage(connection, pipeline, from_stage)


async def require_stage(connection: Any, pipeline: str, name: str | None) -> None:
    """A stage to start from has to exist; a typing mistake would run another one."""
    if name is None:
        return
    known = [row["name"] for row in await stages.listing(connection) if row["pipeline"] == pipeline]
    if name not in known:
        raise NotKnown(kind=f"stage of {pipeline!r}", name=name, known=known)


def is_part_of_action(task: TaskRow | DeadLetter) -> bool:
    """By its pipeline and its job: what stores the rows of a file is Penstock's own as well, and has none."""
    return task.job_id is not None and is_internal(task.pipeline)


async def tell_reprocessed(app: App, started: Sequence[int], *, by: str) -> None:
    if started:
        await app.wake_all()
        app.events.emit("tasks.reprocessed", count=len(started), tasks=list(started), by=by)


async def _state(connection: object, task_id: int) -> State:
    row = (await reads.task_rows(connection, [task_id])).get(task_id)
    if row is None:
        raise TaskNotFound(task_id)
    return row.state
