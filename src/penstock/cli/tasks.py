"""`penstock tasks`"""

import asyncio
import enum
import sys
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import orjson
import typer

from penstock.control import tasks as steering
from penstock.errors import InvalidSetting, UsageError
from penstock.insight import task_views
from penstock.insight.task_views import TaskDetails, TaskEvent, TaskFilter, TaskRow
from penstock.insight.why import explain
from penstock.lifecycle import State
from penstock.observe.wording import stage_label
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.pages import AfterOption, LimitOption, actor, place_of, show_page, written
from penstock.terminal.readable import as_json, clean, error_line, fields, short, when
from penstock.terminal.session import Session

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
TaskIds = Annotated[list[int], typer.Argument(metavar="ID…", min=1)]
StageOption = Annotated[str | None, typer.Option("--from-stage", help="Start at this stage instead of the last one.")]
TimeoutOption = Annotated[float | None, typer.Option("--timeout", min=0, help="Seconds; without it, until the end.")]
ArgumentsOption = Annotated[str, typer.Option("--arguments", "-a", metavar="JSON", help="An object; - reads stdin.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end and print the result.")]


def register(app: typer.Typer) -> None:
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
        chosen = None if state is None else State[state.name.upper()]
        wanted = TaskFilter(state=chosen, pipeline=pipeline, job_id=job, owner=owner)
        page = await task_views.page(await session.app(), wanted, after=place_of(after), limit=limit)
        empty = "No task matches. `penstock tasks list` shows all." if wanted != TaskFilter() else NOTHING_YET
        show_page(session, [_row(row) for row in page.rows], written(page.next), COLUMNS, empty=empty)

    @command(app)
    async def show(session: Session, task: TaskId) -> None:
        """Everything about one task: input, outcome, history, results of finished stages."""
        app = await session.app()
        found, now = await task_views.show(app, task), await task_views.now(app)
        session.out.show(as_data(found), lambda: described(found, now))

    @command(app)
    async def why(session: Session, task: TaskId) -> None:
        """Why it is not running, until when, and what would change that."""
        async with session.connection() as connection:
            found = await explain(connection, task)
        data = {**asdict(found), "state": found.state.name, "reason": found.reason.value}
        pairs = {"state": found.state.name, "why": clean(found.sentence)}
        if found.until is not None:
            pairs["until"] = when(found.until, found.read_at)
        if found.next_step is not None:
            pairs["next"] = clean(found.next_step)
        session.out.show(data, lambda: fields(pairs))

    _register_moves(app)
    _register_enqueue(app)


def _register_moves(app: typer.Typer) -> None:
    @command(app)
    async def cancel(session: Session, task: TaskId) -> None:
        """A waiting task ends at once, a running one is asked to stop."""
        state = await (await session.app()).task_by_id(task).cancel(by=actor())
        text = {
            State.CANCELLED: f"Task {task} is cancelled.",
            State.PROCESSING: f"Task {task} runs and was asked to stop; `penstock tasks wait {task}` sees the end.",
        }
        session.out.show({"task_id": task, "state": state.name}, text.get(state, f"Task {task} is {state.name}."))

    @command(app)
    async def reprocess(session: Session, tasks: TaskIds, from_stage: StageOption = None) -> None:
        """Run finished tasks again; their outcomes go into the history."""
        started = await steering.reprocess(await session.app(), tasks, by=actor(), from_stage=from_stage)
        word = "task runs" if len(started) == 1 else "tasks run"
        session.out.show({"reprocessed": sorted(started)}, f"{len(started):,} {word} again.")

    @command(app)
    async def wait(session: Session, task: TaskId, timeout: TimeoutOption = None) -> int:
        """Until the task has ended. Ctrl-C only ends the waiting. Exit 1 unless it ended DONE."""
        return await wait_for(session, task, timeout)


def _register_enqueue(app: typer.Typer) -> None:
    @command(app)
    async def enqueue(
        session: Session,
        name: Annotated[str, typer.Argument(metavar="NAME", help="A task or pipeline.")],
        arguments: ArgumentsOption = "{}",
        priority: Annotated[str, typer.Option(help="high, normal, low or -100 (first) to 100.")] = "normal",
        delay: Annotated[float | None, typer.Option(min=0, help="Seconds from now.")] = None,
        run_at: Annotated[str | None, typer.Option(help="ISO time with a zone.")] = None,
        key: Annotated[str | None, typer.Option(help="Idempotency key: same key, same task.")] = None,
        unique: Annotated[str | None, typer.Option(help="Coalesce with one that waits under this key.")] = None,
        lane: Annotated[str | None, typer.Option()] = None,
        owner: Annotated[str | None, typer.Option()] = None,
        job: Annotated[int | None, typer.Option(help="Add it to this job.")] = None,
        max_attempts: Annotated[int | None, typer.Option()] = None,
        timeout: Annotated[float | None, typer.Option(help="Deadline of one run, seconds.")] = None,
        wait: Wait = False,
    ) -> int:
        """Store one task. With --app its arguments are checked here, without by its worker."""
        options = {
            "priority": _priority(priority),
            "delay": delay,
            "run_at": _time(run_at),
            "idempotency_key": key,
            "unique_key": unique,
            "lane": lane,
            "owner": owner,
            "job_id": job,
            "max_attempts": max_attempts,
            "timeout": timeout,
        }
        app = await session.app(declared=session.app_reference is not None)
        task = await app.enqueue(name, object_of(arguments, "--arguments"), **options)
        if wait:
            session.out.say(f"Task {task.id} is {'stored' if task.created else 'there already'}.")
            return await wait_for(session, task.id, None)
        note = "stored" if task.created else "was there already, under the same key"
        session.out.show({"task_id": task.id, "created": task.created}, f"Task {task.id} {note}.")
        return 0


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


def _row(row: TaskRow) -> dict[str, Any]:
    failed = {"type": row.error_type, "message": row.error_message}
    return {
        **asdict(row),
        "state": row.state.name,
        "name": stage_label(row.pipeline, row.stage),
        "tries": f"{row.attempts}" if row.max_attempts is None else f"{row.attempts}/{row.max_attempts}",
        "changed": when(row.updated_at, row.read_at),
        "note": error_line(failed, 80) if row.error_type or row.error_message else short(row.input_summary),
    }


def as_data(task: TaskDetails) -> dict[str, Any]:
    return {**asdict(task), "state": task.state.name}


def described(task: TaskDetails, now: Any) -> str:
    """Also what `dead-letters show` prints."""
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


def _event(event: TaskEvent, now: Any) -> str:
    error = event.error or {}
    cause = error_line(error if "type" in error else error.get("error"), 80)
    burned = "burned a try" if event.burned else "burned no try"
    by = f" by {clean(str(error['by']))}" if error.get("by") else ""
    tail = "" if cause == "–" else f": {cause}"
    return f"{when(event.at, now)}  try {event.attempt}  {event.cause}{by}, {burned}{tail}"


async def wait_for(session: Session, task_id: int, timeout: float | None) -> int:
    """Says once why it is not running yet; Ctrl-C leaves the task alone."""
    app = await session.app()
    async with session.connection() as connection:
        why = await explain(connection, task_id)
    if not why.state.finished:
        session.out.say(f"Waiting for task {task_id}. {clean(why.sentence)}")
    try:
        state, result, error = await app.task_by_id(task_id).wait(timeout)
    except asyncio.CancelledError:
        session.out.say(f"\nNot waiting any more; task {task_id} goes on. `penstock tasks wait {task_id}` waits again.")
        raise
    data = {"task_id": task_id, "state": state.name, "result": result, "error": error}
    if state is State.DONE:
        session.out.show(data, lambda: as_json(result))
        return 0
    session.out.show(data, f"Task {task_id} ended {state.name}: {error_line(error, 500)}")
    return 1


def object_of(text: str, what: str) -> dict[str, Any]:
    """A JSON object given on the command line, or on stdin as ``-``."""
    try:
        value = orjson.loads(sys.stdin.read() if text == "-" else text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f'{what} is not JSON: {error}. Write it as \'{{"name": "value"}}\'.') from None
    if not isinstance(value, dict):
        raise UsageError(f"{what} has to be a JSON object, not {type(value).__name__}.")
    return value


def _priority(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSetting("--run-at", text, "write it as 2026-11-15T09:30:00+00:00") from None
