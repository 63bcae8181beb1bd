"""Does something with a selection: a job of its own, whose items are batches of what was chosen.

Where all that match are meant, the first item looks for them: it stores the batches of what it found and the item that
looks further, in the transaction that ends it. A batch changes its items in the transaction that ends the batch. So a
worker that dies leaves nothing half done, and what was done is not done again; see docs/selections.md for what is left
alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from penstock import lifecycle
from penstock.application import Penstock
from penstock.console.grids import selections
from penstock.console.grids.selections import Counted, ItemFilter
from penstock.console.storage import selections as table
from penstock.console.storage.selections import Selection
from penstock.core.context import Context
from penstock.core.enqueue import EnqueueOptions, encoded_rows
from penstock.errors import NotKnown, UsageError
from penstock.lifecycle import State
from penstock.model import Cancel
from penstock.observe.wording import counted
from penstock.storage import jobs, outcomes, queue
from penstock.storage.items import ItemPosition

ACT = "penstock.selection"
Action = Literal["reprocess", "cancel"]

# Few enough that a batch holds no row for long, and many enough that a million items are no million tasks.
_BATCH = 500
_FOUND_AT_ONCE = 20 * _BATCH
TAKES: Mapping[Action, tuple[State, ...]] = {
    "reprocess": (*lifecycle.move("hasten").origins, *lifecycle.move("reprocess").origins),
    "cancel": lifecycle.move("cancel").origins,
}
_WHY_NOT: Mapping[Action, str] = {
    "reprocess": "running now; run it again when it has ended, or cancel it first",
    "cancel": "ended already; its outcome stays",
}
_DUE = "due already; waits for its turn"
_EDITED = "edited; its copy runs in its place"
_VERBS: Mapping[Action, str] = {"reprocess": "Run again", "cancel": "Cancel"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    state: State
    n: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What would happen if it were done now."""

    changed: Mapping[State, int]
    left_alone: tuple[LeftAlone, ...]
    estimate: bool


def outlook(action: Action, found: Counted) -> Outlook:
    takes = TAKES[action]
    changed = {state: n for state, n in found.by_state.items() if state in takes}
    left = [
        LeftAlone(state=state, n=n, why=_WHY_NOT[action])
        for state, n in sorted(found.by_state.items())
        if state not in takes
    ]
    if action == "reprocess":
        due = changed.get(State.PENDING, 0) - found.later
        for state, n, why in ((State.PENDING, due, _DUE), (State.SKIPPED, found.edited, _EDITED)):
            if n:
                changed[state] -= n
                left.append(LeftAlone(state=state, n=n, why=why))
    estimate = found.estimate or (action == "reprocess" and found.later_more)
    return Outlook(changed={state: n for state, n in changed.items() if n}, left_alone=tuple(left), estimate=estimate)


async def start(app: Penstock, selection: Selection, action: Action, *, by: str) -> tuple[int, bool]:
    """(the job that does it, whether it is new). The same with the same selection is the same job."""
    pipeline = app.pipelines[ACT]
    async with app.connection() as connection:
        if not await table.use(connection, selection.id):
            raise NotKnown(kind="selection", name=str(selection.id), known=[])
        until = (await jobs.database_now(connection)).isoformat()
    common = {"selection": selection.id, "action": action, "until": until, "by": by}
    rows: Iterator[dict[str, Any]]
    if selection.picked is not None:
        rows = (_batch(common, number, ids) for number, ids in enumerate(_batches(selection.picked), start=1))
    else:
        rows = iter([_search(common, 1, None, "matching")])
    about = "≈ " if selection.estimate else ""
    job = await app.store_many(
        pipeline,
        rows,
        EnqueueOptions(owner=by, idempotency_key=f"{selection.id} {action}"),
        name=f"{_VERBS[action]}: {about}{counted(selection.n, 'item')}",
        metadata={"type": "action", "columns": ["What"], "result_columns": list(pipeline.result_columns), **common},
    )
    return job.id, job.created


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))


def _batch(common: Mapping[str, Any], row: int, ids: Sequence[int]) -> dict[str, Any]:
    return {**common, "row": row, "cells": [counted(len(ids), "item")], "items": list(ids)}


def _search(common: Mapping[str, Any], row: int, after: ItemPosition | None, part: str) -> dict[str, Any]:
    place = None if after is None else [after.at.isoformat(), after.task_id]
    return {**common, "row": row, "cells": ["Looks for what matches"], "after": place, "part": part}


def install(app: Penstock) -> None:
    """Every worker serves it, whatever application it runs."""
    if ACT in app.pipelines:
        return

    # Served first: whoever cancels ten thousand items does not want to wait for them.
    @app.task(
        name=ACT,
        pool=2,
        order=0,
        timeout=3600,
        max_attempts=20,
        internal=True,
        result_columns=["Changed", "Left alone"],
    )
    async def act(
        ctx: Context,
        selection: int,
        action: str,
        until: str,
        by: str,
        row: int,
        cells: list[str],
        items: list[int] | None = None,
        after: list[Any] | None = None,
        part: str = "matching",
    ) -> Any:
        asked = _Asked(selection=selection, action=_action(action), until=datetime.fromisoformat(until), by=by, row=row)
        async with app.connection() as connection:
            found = await table.get(connection, selection)
        if found is None:
            return Cancel("its selection is gone")
        if items is not None:
            return await _change(app, ctx, found, asked, items)
        place = None if after is None else ItemPosition(datetime.fromisoformat(after[0]), after[1])
        return await _look_further(app, ctx, found, asked, place, part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """``until``: when it was asked for. What changes afterwards is not what somebody chose."""

    selection: int
    action: Action
    until: datetime
    by: str
    row: int

    @property
    def common(self) -> dict[str, Any]:
        until = self.until.isoformat()
        return {"selection": self.selection, "action": self.action, "until": until, "by": self.by}


def _action(name: str) -> Action:
    match name:
        case "reprocess" | "cancel":
            return name
        case _:
            raise UsageError(f"{name!r} is nothing that can be done with a selection: use reprocess or cancel.")


async def _look_further(
    app: Penstock, ctx: Context, selection: Selection, asked: _Asked, after: ItemPosition | None, part: str
) -> Any:
    """Stores batches of the next ones, and whoever looks behind them, together with its own end."""
    matching = ItemFilter.read(selection.filter)
    pipeline = app.pipelines[ACT]
    async with ctx.transaction() as transaction:
        connection = transaction.connection
        meant = await selections.wanted(connection, matching)
        takes = [state for state in meant.states if state in TAKES[asked.action]]
        last_part = part == "moved"
        if last_part:
            now = await jobs.database_now(connection)
            meant = selections.still_open(meant, asked.until, now)
        else:
            meant = replace(meant, states=takes, until=min(meant.until, asked.until))
        found, further = await selections.places(connection, meant, after, _FOUND_AT_ONCE)
        ids = [place.task_id for place in found if place.task_id not in selection.left_out]
        rows = [_batch(asked.common, number, chunk) for number, chunk in enumerate(_batches(ids), start=asked.row + 1)]
        next_row = asked.row + len(rows) + 1
        if further is not None:
            rows.append(_search(asked.common, next_row, further, part))
        elif asked.action == "cancel" and not last_part and matching.group is None:
            # What waited and began meanwhile, or came back, has a later time than the ones that were looked at.
            rows.append(_search(asked.common, next_row, None, "moved"))
        if rows:
            options = EnqueueOptions(owner=asked.by, job_id=ctx.job_id)
            await app.store_rows(connection, pipeline, encoded_rows(pipeline, rows), options)
        transaction.result = {"columns": {"Changed": "", "Left alone": ""}, "found": len(ids)}
    return None


async def _change(app: Penstock, ctx: Context, selection: Selection, asked: _Asked, items: Sequence[int]) -> Any:
    """Its items change and the batch ends, or neither."""
    matching = None if selection.picked is not None else ItemFilter.read(selection.filter)
    states = tuple(State) if matching is None else matching.states
    if asked.action == "reprocess" and State.PENDING in states:
        async with app.connection() as connection:
            await queue.note_hasten(connection, items)
    async with ctx.transaction() as transaction:
        connection = transaction.connection
        if asked.action == "cancel":
            running = State.PROCESSING in states
            changed = await queue.cancel_chosen(
                connection, items, by=asked.by, stored_until=asked.until, running=running
            )
        else:
            changed = await _reprocess(connection, items, states, asked)
        left = len(items) - len(changed)
        transaction.result = {"columns": {"Changed": f"{len(changed):,}", "Left alone": f"{left:,}" if left else ""}}
    if changed:
        await _tell(app, asked, changed)
    return None


async def _reprocess(
    connection: Any, items: Sequence[int], states: Sequence[State], asked: _Asked
) -> dict[int, int | None]:
    finished = [state for state in states if state.finished]
    again = await outcomes.hold_ended(connection, items, finished, asked.until)
    await outcomes.reprocess(connection, sorted(again), statuses=finished, by=asked.by)
    hastened = await queue.hasten_chosen(connection, items) if State.PENDING in states else {}
    return again | {task_id: job for task_id, job in hastened.items() if task_id not in again}


async def _tell(app: Penstock, asked: _Asked, changed: Mapping[int, int | None]) -> None:
    await app.wake_all()
    by_job: dict[int | None, list[int]] = {}
    for task_id, job in changed.items():
        by_job.setdefault(job, []).append(task_id)
    for job, tasks in by_job.items():
        more = {} if job is None else {"job": job}
        if asked.action == "reprocess":
            app.events.emit("tasks.reprocessed", count=len(tasks), tasks=tasks, by=asked.by, **more)
        else:
            app.events.emit("tasks.cancelled", count=len(tasks), tasks=tasks, by=asked.by, **more)
