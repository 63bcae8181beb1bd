"""The commands of `penstock tasks` that change something, or wait."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

import typer

from penstock.terminal.command import command
from penstock.terminal.pages import actor
from penstock.terminal.readable import as_json, clean, error_line
from penstock.terminal.session import Session

TaskId = Annotated[int, typer.Argument(metavar="ID", min=1)]
TaskIds = Annotated[list[int], typer.Argument(metavar="ID…", min=1)]
StageOption = Annotated[str | None, typer.Option("--from-stage", help="Start at this stage instead of the last one.")]
TimeoutOption = Annotated[float | None, typer.Option("--timeout", min=0, help="Seconds; without it, until the end.")]
ArgumentsOption = Annotated[str, typer.Option("--arguments", "-a", metavar="JSON", help="An object; - reads stdin.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end and print the result.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def cancel(session: Session, task: TaskId) -> None:
        """A waiting task ends at once, a running one is asked to stop."""
        from penstock.lifecycle import State

        state = await (await session.app()).task_by_id(task).cancel(by=actor())
        text = {
            State.CANCELLED: f"Task {task} is cancelled.",
            State.PROCESSING: f"Task {task} runs and was asked to stop; `penstock tasks wait {task}` sees the end.",
        }
        session.out.show({"task_id": task, "state": state.name}, text.get(state, f"Task {task} is {state.name}."))

    @command(app)
    async def reprocess(session: Session, tasks: TaskIds, from_stage: StageOption = None) -> None:
        """Run finished tasks again; their outcomes go into the history."""
        await _reprocess(session, tasks, from_stage)

    @command(app)
    async def wait(session: Session, task: TaskId, timeout: TimeoutOption = None) -> int:
        """Until the task has ended. Ctrl-C only ends the waiting. Exit 1 unless it ended DONE."""
        return await wait_for(session, task, timeout)

    _register_enqueue(app)


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


async def wait_for(session: Session, task_id: int, timeout: float | None) -> int:
    """Says once why it is not running yet; Ctrl-C leaves the task alone."""
    from penstock.insight.why import explain
    from penstock.lifecycle import State

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


async def _reprocess(session: Session, task_ids: list[int], from_stage: str | None) -> None:
    from penstock.control import tasks

    started = await tasks.reprocess(await session.app(), task_ids, by=actor(), from_stage=from_stage)
    word = "task runs" if len(started) == 1 else "tasks run"
    session.out.show({"reprocessed": sorted(started)}, f"{len(started):,} {word} again.")


def object_of(text: str, what: str) -> dict[str, Any]:
    """A JSON object given on the command line, or on stdin as ``-``."""
    import sys

    import orjson

    from penstock.errors import UsageError

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
    from penstock.errors import InvalidSetting

    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSetting("--run-at", text, "write it as 2026-11-15T09:30:00+00:00") from None
