"""`penstock tasks`: look at tasks; the commands that change something are in ``task_moves``."""

import enum
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.pages import AfterOption, LimitOption, place_of, show_page, written
from penstock.terminal.readable import as_json, clean, error_line, fields, short, when
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.insight.task_views import TaskDetails, TaskEvent, TaskRow

TaskId = Annotated[int, typer.Argument(metavar="ID", min=1)]


class StateName(enum.StrEnum):
    pending = "pending"
    processing = "processing"
    done = "done"
    error = "error"
    not_found = "not_found"
    skipped = "skipped"
    cancelled = "cancelled"


StateOption = Annotated[StateName | None, typer.Option("--state", "-s", case_sensitive=False)]
PipelineOption = Annotated[str | None, typer.Option("--pipeline", "-p", help="Only tasks of this name.")]
JobOption = Annotated[int | None, typer.Option("--job", help="Only tasks of this job.")]
OwnerOption = Annotated[str | None, typer.Option("--owner")]


def register(app: typer.Typer) -> None:
    from penstock.cli import task_moves

    @command(app, "list")
    async def listing(
        session: Session,
        state: StateOption = None,
        pipeline: PipelineOption = None,
        job: JobOption = None,
        owner: OwnerOption = None,
        limit: LimitOption = 20,
        after: AfterOption = None,
    ) -> None:
        """Newest first; with --state pending, what is due first."""
        await _list(session, state, pipeline, job, owner, limit, after)

    @command(app)
    async def show(session: Session, task: TaskId) -> None:
        """Everything about one task: input, outcome, history, results of finished stages."""
        await _show(session, task)

    @command(app)
    async def why(session: Session, task: TaskId) -> None:
        """Why it is not running, until when, and what would change that."""
        await _why(session, task)

    task_moves.register(app)


async def _list(
    session: Session,
    state: StateName | None,
    pipeline: str | None,
    job: int | None,
    owner: str | None,
    limit: int,
    after: str | None,
) -> None:
    from penstock.insight.task_views import TaskFilter
    from penstock.insight.task_views import page as page_of
    from penstock.lifecycle import State

    wanted = TaskFilter(
        state=None if state is None else State[state.name.upper()], pipeline=pipeline, job_id=job, owner=owner
    )
    page = await page_of(await session.app(), wanted, after=place_of(after), limit=limit)
    empty = "No task matches. `penstock tasks list` shows all." if wanted != TaskFilter() else NOTHING_YET
    show_page(session, [_row(row) for row in page.rows], written(page.next), COLUMNS, empty=empty)


NOTHING_YET = "No tasks yet. Store one: penstock tasks enqueue NAME --arguments '{…}', or try `penstock demo`."
COLUMNS = (
    Column(key="task_id", title="task", right=True, show=str),
    Column(key="name", title="name"),
    Column(key="state", title="state"),
    Column(key="tries", title="tries", right=True),
    Column(key="changed", title="changed"),
    Column(key="job_id", title="job", right=True, show=lambda value: "–" if value is None else str(value)),
    Column(key="note", title="input, or error"),
)


def _row(row: "TaskRow") -> dict[str, Any]:
    from penstock.insight.wording import stage_label

    failed = {"type": row.error_type, "message": row.error_message}
    return {
        **asdict(row),
        "state": row.state.name,
        "name": stage_label(row.pipeline, row.stage),
        "tries": f"{row.attempts}" if row.max_attempts is None else f"{row.attempts}/{row.max_attempts}",
        "changed": when(row.updated_at, row.read_at),
        "note": error_line(failed, 80) if row.error_type or row.error_message else short(row.input_summary),
    }


async def _show(session: Session, task_id: int) -> None:
    from penstock.insight import task_views

    app = await session.app()
    task, now = await task_views.show(app, task_id), await task_views.now(app)
    session.out.show(as_data(task), lambda: described(task, now))


def as_data(task: "TaskDetails") -> dict[str, Any]:
    return {**asdict(task), "state": task.state.name}


def described(task: "TaskDetails", now: Any) -> str:
    """Also what `dead-letters show` prints."""
    from penstock.insight.wording import stage_label

    pairs = {
        "task": str(task.task_id),
        "name": stage_label(task.pipeline, task.stage),
        "state": task.state.name,
        "stored": when(task.created_at, now),
        "changed": when(task.updated_at, now),
        "tries": f"{task.attempts}" + (f" of {task.max_attempts}" if task.max_attempts else ""),
    }
    if task.run > 1:
        pairs["run"] = f"{task.run} (it was started again)"
    for value, title in (
        (task.job_id, "job"),
        (task.owner, "owner"),
        (task.idempotency_key, "key"),
        (task.replaces, "edited copy of"),
    ):
        if value is not None:
            pairs[title] = clean(str(value))
    parts = [fields(pairs), f"input\n{as_json(task.input)}"]
    if task.result is not None:
        parts.append(f"result\n{as_json(task.result)}")
    if task.error:
        parts.append(_error(task.error))
    if task.checkpoints:
        lines = [f"  {one.name}  {when(one.at, now)}  {short(one.result, 80)}" for one in task.checkpoints]
        parts.append("finished stages\n" + "\n".join(lines))
    if task.history:
        parts.append("history\n" + "\n".join(f"  {_event(one, now)}" for one in task.history))
    return "\n\n".join(parts)


def _error(error: dict[str, Any]) -> str:
    text = f"error\n  {error_line(error, 2000)}"
    if error.get("where"):
        text += f"\n  at {clean(str(error['where']))}"
    if error.get("traceback"):
        text += "\n" + clean(str(error["traceback"])).rstrip()
    return text


def _event(event: "TaskEvent", now: Any) -> str:
    error = event.error or {}
    cause = error_line(error if "type" in error else error.get("error"), 80)
    burned = "burned a try" if event.burned else "burned no try"
    by = f" by {clean(str(error['by']))}" if error.get("by") else ""
    tail = "" if cause == "–" else f": {cause}"
    return f"{when(event.at, now)}  try {event.attempt}  {event.cause}{by}, {burned}{tail}"


async def _why(session: Session, task_id: int) -> None:
    from penstock.insight.why import explain

    async with session.connection() as connection:
        why = await explain(connection, task_id)
    data = {
        "task_id": why.task_id,
        "state": why.state.name,
        "reason": why.reason.value,
        "sentence": why.sentence,
        "until": why.until,
        "next_step": why.next_step,
        "read_at": why.read_at,
    }
    pairs = {"state": why.state.name, "why": clean(why.sentence)}
    if why.until is not None:
        pairs["until"] = when(why.until, why.read_at)
    if why.next_step is not None:
        pairs["next"] = clean(why.next_step)
    session.out.show(data, lambda: fields(pairs))
