"""Dead letters: look, edit, replay. One, or all that match, with a canary first and no faster than asked."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock import lifecycle
from penstock.core.app import App
from penstock.core.handles import Task, is_part_of_action, require_all, tell_reprocessed
from penstock.core.payload import encode
from penstock.errors import IllegalMove, InvalidSetting, TaskNotFound, UsageError, WaitTimeout
from penstock.insight.task_views import require_pipeline
from penstock.lifecycle import State
from penstock.model import MAX_INPUT_BYTES
from penstock.storage import dead_letters as table
from penstock.storage import outcomes, tasks
from penstock.storage.dead_letters import DeadLetter, DeadLetterFilter, DeadLetterPage
from penstock.storage.reads import Place

__all__ = [
    "Canary",
    "DeadLetter",
    "DeadLetterFilter",
    "Replay",
    "edit",
    "page",
    "repeatable",
    "replay",
    "replay_matching",
    "replay_these",
]

_BATCH = 500
STOP_AFTER = 10
# Of so many that were replayed last it is seen whether they fail again.
_WATCHED = 2000
# A paced replay goes in small steps, so that "5 a second" is not 500 at once and then a long pause.
_STEPS_PER_SECOND = 5

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What became of the one that went first. ``state`` is None when it had not ended in time."""

    task_id: int
    state: State | None
    same_error: bool
    error: Mapping[str, Any] | None

    @property
    def passed(self) -> bool:
        return self.state is not None and self.state is not State.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """``stopped``: the canary failed, or too many failed again with the error they had (``failed_again``), and the
    others were left as they are."""

    replayed: int
    canary: Canary | None = None
    failed_again: int = 0
    too_many: bool = False

    @property
    def stopped(self) -> bool:
        return self.too_many or (self.canary is not None and not self.canary.passed)


async def page(app: App, wanted: DeadLetterFilter, *, after: Place | None = None, limit: int = 50) -> DeadLetterPage:
    """Newest first."""
    async with app.connection() as connection:
        return await table.page(connection, wanted, after=after, limit=limit)


async def edit(app: App, task_id: int, new_input: Mapping[str, Any], *, by: str) -> Task[Any]:
    """Closes what failed, was not found or was skipped, and stores an edited copy, both or neither. An input never
    changes; a copy does."""
    async with app.connection() as connection:
        source = await table.origin(connection, task_id)
        if source is None:
            raise TaskNotFound(task_id)
        encoded = _checked(app, source["pipeline"], _same_row(source, new_input))
        if source["status"] not in lifecycle.move("edit").origins:
            raise await _edit_refused(connection, task_id)
        async with connection.transaction():
            copy_id = await table.copy(connection, source, encoded)
            if not await outcomes.replace(connection, task_id, copy_id, by):
                raise await _edit_refused(connection, task_id)
    await app.wake_all()
    told = {} if source["job_id"] is None else {"job": source["job_id"]}
    app.events.emit(
        "tasks.enqueued", pipeline=source["pipeline"], count=1, tasks=[copy_id], replaces=task_id, by=by, **told
    )
    return app.task_by_id(copy_id)


async def _edit_refused(connection: Any, task_id: int) -> Exception:
    """Somebody was quicker, or it may not be edited: says which state it is in now."""
    task = await tasks.get(connection, task_id)
    if task is None:
        return TaskNotFound(task_id)
    refusal = lifecycle.refusal("edit", State[task["state"]], f"task {task_id}")
    if refusal is None and (task["error"] or {}).get("type") == "Replaced":
        origins = [state.name for state in lifecycle.move("edit").origins]
        refusal = IllegalMove(
            move="edit",
            subject=f"task {task_id}",
            state="REPLACED",
            allowed_from=origins,
            next_step=f"Edit its copy, task {task['error']['task_id']}, instead.",
        )
    return refusal or UsageError(f"Task {task_id} changed while it was edited. Look at it again.")


def _same_row(source: Mapping[str, Any], new_input: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of a file stays that row, whatever else changes: its copy is shown and exported in its place."""
    was = orjson.loads(source["input"])
    of_a_file = "cells" in was or "image" in was
    if not of_a_file or type(was.get("row")) is not int or not isinstance(new_input, Mapping):
        return new_input
    return {**new_input, "row": was["row"]}


def _checked(app: App, pipeline: str, new_input: Mapping[str, Any]) -> str:
    """Checked like an enqueue where this application declares the task; without it, by its handler later."""
    if not isinstance(new_input, Mapping):
        raise UsageError(f"The input of {pipeline!r} has to be a JSON object, not {type(new_input).__name__}.")
    if (known := app.pipelines.get(pipeline)) is not None:
        if known.internal:
            raise UsageError(f"Inputs of {pipeline!r} are made by code and not edited. Replay the task as it is.")
        new_input = known.first.arguments.check(new_input)
    return encode(new_input, what=f"input of {pipeline!r}", limit_bytes=MAX_INPUT_BYTES)


async def replay(app: App, task_ids: Sequence[int], *, by: str, from_stage: str | None = None) -> list[int]:
    """Start these again; returns those that were dead letters."""
    async with app.connection() as connection:
        dead = lifecycle.move("replay").origins
        started = await outcomes.reprocess(connection, task_ids, statuses=dead, by=by, from_stage=from_stage)
    await tell_reprocessed(app, started, by=by)
    return started


async def replay_these(app: App, task_ids: Sequence[int], *, by: str, from_stage: str | None = None) -> list[int]:
    """All or none: one that is not a dead letter is told before anything starts."""
    async with app.connection() as connection:
        await require_all(connection, task_ids, "replay", from_stage=from_stage)
    return await replay(app, task_ids, by=by, from_stage=from_stage)


async def replay_matching(
    app: App,
    wanted: DeadLetterFilter | AsyncIterator[Sequence[DeadLetter]],
    *,
    by: str,
    canary: bool = False,
    canary_seconds: float = 60.0,
    per_second: float | None = None,
    stop_after: int | None = None,
    tell: Tell = lambda replayed: None,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Replay:
    """Replay all that match, newest first, or those of the given pages. Whoever fails once more meanwhile is not taken
    a second time.

    ``stop_after``: so many that failed again with the error they had end it; by default 10 where there is a canary. It
    needs a rate to be of use: without one all are started before the first can fail.
    """
    if per_second is not None and not 0 < per_second <= 1_000_000:
        raise InvalidSetting("rate", per_second, "use a number of tasks per second above 0")
    if isinstance(wanted, DeadLetterFilter):
        await require_pipeline(app, wanted.pipeline)
        wanted = _matching(app, wanted)
    replayed, first = 0, None
    watch = _Watch(app, stop_after or (STOP_AFTER if canary else None))
    begun = clock()
    async for found in wanted:
        letters = list(found)
        while canary and first is None and letters:
            first = await _canary(app, letters.pop(0), by, canary_seconds)
            if first is not None:
                replayed, begun = 1, clock()
                tell(replayed)
        if first is not None and not first.passed:
            break
        for chunk in _chunks(letters, per_second):
            if await watch.is_enough():
                break
            replayed += len(await replay(app, watch.over(chunk), by=by))
            tell(replayed)
            if per_second is not None:
                await pause(max(begun + replayed / per_second - clock(), 0.0))
        if watch.too_many:
            break
    return Replay(replayed=replayed, canary=first, failed_again=watch.failed_again, too_many=watch.too_many)


class _Watch:
    """Looks whether what was replayed fails again as it did before."""

    def __init__(self, app: App, limit: int | None) -> None:
        self._app = app
        self._limit = limit
        self._replayed: list[tuple[int, datetime, str | None]] = []
        self.failed_again = 0

    @property
    def too_many(self) -> bool:
        return self._limit is not None and self.failed_again >= self._limit

    def over(self, letters: Sequence[DeadLetter]) -> list[int]:
        """Their ids; these are looked at from now on."""
        new = [(one.task_id, one.finished_at, one.error.get("type")) for one in letters]
        self._replayed = [*self._replayed, *new][-_WATCHED:]
        return [one[0] for one in new]

    async def is_enough(self) -> bool:
        if self._limit is not None and self._replayed:
            async with self._app.connection() as connection:
                self.failed_again = await table.failed_again(connection, self._replayed)
        return self.too_many


def repeatable(letters: Sequence[DeadLetter]) -> list[DeadLetter]:
    """Those that may be replayed in passing: none is a part of an action on others."""
    return [letter for letter in letters if not is_part_of_action(letter)]


async def _matching(app: App, wanted: DeadLetterFilter) -> AsyncIterator[Sequence[DeadLetter]]:
    """Newest first, and pages go backwards: what fails again meanwhile has a later time, so each is seen once."""
    place: Place | None = None
    while True:
        found = await page(app, wanted, after=place, limit=_BATCH)
        if letters := repeatable(found.rows):
            yield letters
        if (place := found.next) is None:
            return


async def _canary(app: App, letter: DeadLetter, by: str, seconds: float) -> Canary | None:
    """None: somebody else has taken it in the meantime."""
    task_id = letter.task_id
    if not await replay(app, [task_id], by=by):
        return None
    try:
        state, _, error = await app.task_by_id(task_id).wait(seconds)
    except WaitTimeout:
        return Canary(task_id=task_id, state=None, same_error=False, error=None)
    same = state is State.ERROR and (error or {}).get("type") == letter.error.get("type")
    return Canary(task_id=task_id, state=state, same_error=same, error=error)


def _chunks(letters: Sequence[DeadLetter], per_second: float | None) -> list[Sequence[DeadLetter]]:
    size = _BATCH if per_second is None else min(max(int(per_second / _STEPS_PER_SECOND), 1), _BATCH)
    return [letters[start : start + size] for start in range(0, len(letters), size)]
