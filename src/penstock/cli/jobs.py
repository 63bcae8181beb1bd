"""`penstock jobs`"""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.errors import InvalidSetting
from penstock.insight import job_views
from penstock.insight.job_views import JobDetails, JobView
from penstock.lifecycle import FINISHED, UNSUCCESSFUL, State
from penstock.terminal.command import command
from penstock.terminal.output import Column, duration, table_text, titled
from penstock.terminal.pages import LimitOption, ReasonOption, YesOption, actor, agreed, on_terminal, show_page
from penstock.terminal.readable import clean, error_line, fields, short, when
from penstock.terminal.session import Session
from penstock.terminal.waiting import as_row, wait_for

JobId = Annotated[int, typer.Argument(metavar="ID", min=1)]
BeforeOption = Annotated[int | None, typer.Option("--after", metavar="ID", help="Where the page before ended.")]
StatusesOption = Annotated[
    str | None,
    typer.Option("--statuses", help="States to run again, separated by commas; default: error,not_found."),
]
StageOption = Annotated[
    str | None, typer.Option("--from-stage", metavar="STAGE", help="Start at this stage; earlier results are kept.")
]
TimeoutOption = Annotated[float | None, typer.Option("--timeout", min=0, help="Seconds; without it, until the end.")]
OwnerOption = Annotated[str | None, typer.Option("--owner")]


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(
        session: Session, owner: OwnerOption = None, limit: LimitOption = 20, after: BeforeOption = None
    ) -> None:
        """Newest first, with progress."""
        async with session.connection() as connection:
            views = await job_views.page(connection, before=after, owner=owner, limit=limit)
        following = str(views[-1].id) if len(views) == limit else None
        empty = "No jobs yet. A job is what `enqueue_many` stores; `penstock demo` makes a few."
        rows = [as_row(view) for view in views]
        if not session.out.json:
            rows = [{**row, **_cells(view)} for row, view in zip(rows, views, strict=True)]
        show_page(session, rows, following, COLUMNS, empty=empty)

    @command(app)
    async def show(session: Session, job: JobId) -> None:
        """Counts, rate, ETA, lanes and the newest errors."""
        async with session.connection() as connection:
            found = await job_views.show(connection, job)
        data = {
            "job": as_row(found.job),
            "current_step": found.steps.current,
            "progress": found.steps.progress,
            "steps": [asdict(step) for step in found.steps.steps],
            "next_due_at": found.next_due_at,
            "file": None if found.file is None else asdict(found.file),
            "lanes": found.lanes,
            "newest_errors": found.newest_errors,
            "callback": None if found.callback is None else asdict(found.callback),
        }
        session.out.show(data, lambda: _described(found))

    @command(app)
    async def wait(session: Session, job: JobId, timeout: TimeoutOption = None) -> int:
        """Until every task has ended. Ctrl-C only ends the waiting. Exit 1 if a task failed."""
        return await wait_for(session, job, timeout)

    _register_moves(app)


def _register_moves(app: typer.Typer) -> None:
    @command(app)
    async def pause(session: Session, job: JobId, reason: ReasonOption = None) -> None:
        """Nothing more of it is started; what runs goes on to its end."""
        await (await session.app()).job_by_id(job).pause(by=actor(), reason=reason)
        session.out.show({"job_id": job, "paused": True}, f"Job {job} is paused. `penstock jobs resume {job}` goes on.")

    @command(app)
    async def resume(session: Session, job: JobId) -> None:
        """Go on after a pause."""
        await (await session.app()).job_by_id(job).resume(by=actor())
        session.out.show({"job_id": job, "paused": False}, f"Job {job} goes on.")

    @command(app)
    async def cancel(session: Session, job: JobId, yes: YesOption = False) -> None:
        """Waiting tasks end at once, running ones are asked to stop. On a terminal it asks first."""
        handle = (await session.app()).job_by_id(job)
        if on_terminal() and not yes:
            waiting = (await handle.counts()).pending
            agreed(session, f"Cancel job {job} with {waiting:,} waiting tasks?", yes=yes)
        await handle.cancel(by=actor())
        session.out.show({"job_id": job, "state": "CANCELLED"}, f"Job {job} is cancelled.")

    @command(app)
    async def delete(session: Session, job: JobId, yes: YesOption = False) -> None:
        """It is gone at once, its rows and its file soon after. On a terminal it asks first."""
        agreed(session, f"Delete job {job} with all its rows and results?", yes=yes or not on_terminal())
        await (await session.app()).control.jobs.delete(job, by=actor())
        session.out.show({"job_id": job, "deleted": True}, f"Job {job} is deleted.")

    @command(app)
    async def reprocess(
        session: Session, job: JobId, statuses: StatusesOption = None, from_stage: StageOption = None
    ) -> None:
        """Run its finished tasks in these states again; pending: what waits for its next try starts now."""
        chosen = list(UNSUCCESSFUL) if statuses is None else _states(statuses, ended_only=from_stage is not None)
        handle = (await session.app()).job_by_id(job)
        count = await handle.reprocess(statuses=chosen, by=actor(), from_stage=from_stage)
        session.out.show({"job_id": job, "reprocessed": count}, f"{count:,} tasks of job {job} run again.")
        if not count:
            session.out.say(
                "None was in one of these states; --statuses takes others: done, cancelled, or pending for what waits"
                " for its next try."
            )


def _states(text: str, *, ended_only: bool = False) -> list[Any]:
    known = {state.name.lower(): state for state in (FINISHED if ended_only else (*FINISHED, State.PENDING))}
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise InvalidSetting("--statuses", name, f"use some of {', '.join(known)}")
    return [known[name] for name in names]


COLUMNS = (
    Column(key="id", title="job", right=True, show=str),
    Column(key="label", title="name"),
    Column(key="pipeline", title="pipeline"),
    Column(key="state", title="state"),
    Column(key="progress", title="progress", right=True),
    Column(key="failed", title="failed", right=True),
    Column(key="submitted", title="submitted"),
)


def _cells(view: JobView) -> dict[str, Any]:
    counts = view.counts
    share = f" {100 * counts.finished // counts.total} %" if counts.total else ""
    return {
        "label": short(view.name, 40) or "–",
        "progress": f"{counts.finished:,}/{counts.total:,}{share}",
        "failed": counts.error,
        "submitted": when(view.created_at, view.read_at),
    }


def _described(found: JobDetails) -> str:
    view, counts = found.job, found.job.counts
    pairs = {
        "job": f"{view.id}" + (f" {clean(view.name)}" if view.name else ""),
        "pipeline": view.pipeline,
        "owner": clean(view.owner or "–"),
        "state": view.state.name,
        "submitted": when(view.created_at, view.read_at),
        "step": clean(found.steps.current),
        "progress": f"{_cells(view)['progress']}, {found.steps.progress:.0%} of all stages",
        "counts": ", ".join(f"{count:,} {name}" for name, count in asdict(counts).items() if count and name != "total"),
    }
    if found.file is not None:
        problem = f": {clean(str(found.file.problem.get('detail')))}" if found.file.problem is not None else ""
        pairs["file"] = f"{found.file.state}, {found.file.rows_stored:,} rows{problem}"
    if found.next_due_at is not None:
        pairs["next"] = f"nothing is due before {when(found.next_due_at, view.read_at)}; `penstock tasks why` says why"
    if view.eta_seconds is not None and view.per_second:
        pairs["ETA"] = f"≈ {duration(view.eta_seconds)} at {view.per_second:,.1f}/s"
    for lane in found.lanes:
        if lane["paused_at"] is not None and view.state.name == "PAUSED":
            why = f": {clean(lane['pause_reason'])}" if lane["pause_reason"] else ""
            pairs["paused"] = f"by {clean(lane['paused_by'] or '–')} {when(lane['paused_at'], view.read_at)}{why}"
    if found.callback is not None:
        pairs["then"] = _called(found)
    text = fields(pairs)
    if len(found.steps.steps) > 1:
        rows = [{**asdict(step), "stage": clean(step.stage)} for step in found.steps.steps]
        columns = [titled(name) for name in ("stage", "waiting", "running", "done", "failed", "cancelled")]
        text += "\n\n" + table_text(rows, columns)
    if found.newest_errors:
        lines = [f"  task {one.task_id}  {error_line(one.error)}" for one in found.newest_errors]
        text += "\n\nnewest errors\n" + "\n".join(lines) + f"\n  → penstock dead-letters list --job {view.id}"
    return text


def _called(found: JobDetails) -> str:
    callback = found.callback
    assert callback is not None
    name = clean(callback.pipeline)
    if callback.called_back_at is None:
        return f"{name}, when every task has ended"
    at = when(callback.called_back_at, found.job.read_at)
    if callback.problem is not None:
        return f"{name} could not be called {at}: {clean(callback.problem)}"
    return f"{name}, called {at} as task {callback.task_id}"
