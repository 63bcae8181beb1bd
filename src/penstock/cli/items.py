"""`penstock items`: what became of row 4,182."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from penstock.cli.tasks import as_data
from penstock.insight import items, task_views
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.pages import LimitOption, show_page
from penstock.terminal.readable import as_json, clean, error_line, fields, short, when
from penstock.terminal.session import Session

JobArgument = Annotated[int, typer.Argument(metavar="JOB", min=1)]
RowOption = Annotated[int, typer.Option("--row", min=1, help="Its number in the file, from 1.")]
StatusesOption = Annotated[
    str | None, typer.Option("--statuses", help="Only these, with commas between: pending, done, error, not_found, …")
]
AfterOption = Annotated[str | None, typer.Option("--after", metavar="PLACE", help="Where the page before ended.")]

EMPTY = "No item of the job is in one of these states."
COLUMNS = (
    Column(key="item_id", title="item", right=True, show=str),
    Column(key="row", title="row", right=True),
    Column(key="status", title="status"),
    Column(key="summary", title="input"),
    Column(key="attempts", title="tries", right=True),
    Column(key="changed", title="changed"),
    Column(key="told", title="result, error, or what it waits for"),
)


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(
        session: Session,
        job: JobArgument,
        statuses: StatusesOption = None,
        limit: LimitOption = 20,
        after: AfterOption = None,
    ) -> None:
        """A job's items, the newest change first."""
        states, place = items.states(statuses), items.place(after)
        async with session.connection() as connection:
            page = await items.page_of_job(connection, job, states=states, after=place, limit=limit)
        rows = [_row(item, session.out.json) for item in page.items]
        show_page(session, rows, items.written(page.next), COLUMNS, empty=EMPTY)

    @command(app)
    async def show(session: Session, job: JobArgument, row: RowOption) -> None:
        """One row of a job's file: input, result, error, history."""
        app = await session.app()
        async with session.connection() as connection:
            item_id = await items.id_now_of_row(connection, job, row)
            item = await items.one(connection, item_id)
        task = await task_views.show(app, item_id)
        metadata = await app.job_by_id(job).metadata()
        text = _described(task, item, row, metadata.get("columns", ()))
        session.out.show({"item_id": item_id, "row": row, **as_data(task)}, text)


def _row(item: Any, whole: bool) -> dict[str, Any]:
    row = {
        "item_id": item.id,
        "row": item.row,
        "status": item.status.name,
        "attempts": item.attempts,
        "updated_at": item.updated_at,
        "input_summary": dict(item.input_summary),
        "result": item.result,
        "error": item.error,
        "why": item.why,
    }
    if whole:
        return row
    told = error_line(item.error) if item.error else item.why or as_json(item.result)
    summary = ", ".join(item.input_summary.values())
    return {
        **row,
        "summary": short(clean(summary), 50),
        "changed": when(item.updated_at, item.read_at),
        "told": short(told, 70),
    }


def _described(task: task_views.TaskDetails, item: items.Item | None, row: int, columns: Sequence[str]) -> str:
    cells = task.input.get("cells")
    named = dict(zip(columns, cells, strict=False)) if isinstance(cells, list) else task.input
    told = {
        "item": str(task.task_id),
        "row": f"{row:,}",
        "status": task.state.name,
        "attempts": str(task.attempts),
        "input": as_json(named),
        "result": as_json(task.result),
        "error": error_line(item.error) if item is not None and item.error else "–",
        "waits": (item.why if item is not None else None) or "–",
    }
    past = [f"  {when(one.at, item.read_at)}  {one.cause}  {error_line(one.error)}" for one in task.history if item]
    return fields({key: clean(one) for key, one in told.items()}) + ("\n\nhistory\n" + "\n".join(past) if past else "")
