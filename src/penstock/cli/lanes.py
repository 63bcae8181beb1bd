"""`penstock lanes`: the units of fairness, pause and cancel inside a pipeline."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.cli.stages import whole_or_none
from penstock.control import lanes
from penstock.control.lanes import Lane
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.pages import LimitOption, ReasonOption, YesOption, actor, agreed, on_terminal, show_page
from penstock.terminal.readable import clean, short, when
from penstock.terminal.session import Session

Pipeline = Annotated[str, typer.Argument(metavar="PIPELINE")]
Key = Annotated[str, typer.Argument(metavar="LANE", help="As `lanes list` names it, such as owner:ann.")]
PipelineOption = Annotated[str | None, typer.Option("--pipeline", "-p")]
AllOption = Annotated[bool, typer.Option("--all", help="Also lanes that hold nothing.")]
BeforeOption = Annotated[int | None, typer.Option("--after", metavar="ID", help="Where the page before ended.")]

EMPTY = "No lane holds a task. Lanes open by themselves when something is enqueued; --all shows resting ones."


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(
        session: Session,
        pipeline: PipelineOption = None,
        idle_too: AllOption = False,
        limit: LimitOption = 50,
        after: BeforeOption = None,
    ) -> None:
        """Newest first, with what they hold."""
        app = await session.app()
        rows = await app.insight.lanes(before=after, idle_too=idle_too, pipeline=pipeline, limit=limit)
        following = str(rows[-1].id) if len(rows) == limit else None
        show_page(session, [_row(row) for row in rows], following, COLUMNS, empty=EMPTY)

    @command(app)
    async def pause(session: Session, pipeline: Pipeline, lane: Key, reason: ReasonOption = None) -> None:
        """Nothing more of it is started; what runs goes on to its end."""
        await (await session.app()).control.lanes.pause(pipeline, lane, by=actor(), reason=reason)
        session.out.show(_data(pipeline, lane, paused=True), f"Lane {lane} of {pipeline} is paused.")

    @command(app)
    async def resume(session: Session, pipeline: Pipeline, lane: Key) -> None:
        """Go on after a pause."""
        await (await session.app()).control.lanes.resume(pipeline, lane, by=actor())
        session.out.show(_data(pipeline, lane, paused=False), f"Lane {lane} of {pipeline} goes on.")

    _register_changes(app)


def _register_changes(app: typer.Typer) -> None:
    @command(app)
    async def cancel(session: Session, pipeline: Pipeline, lane: Key, yes: YesOption = False) -> None:
        """Waiting tasks end at once, running ones are asked to stop. Later ones start in a new lane. On a terminal it
        asks first."""
        app = await session.app()
        if on_terminal() and not yes:
            waiting = await lanes.waiting(app, pipeline, lane)
            agreed(session, f"Cancel lane {lane} of {pipeline} with {waiting:,} waiting tasks?", yes=yes)
        await app.control.lanes.cancel(pipeline, lane, by=actor())
        session.out.show(_data(pipeline, lane, cancelled=True), f"Lane {lane} of {pipeline} is cancelled.")

    @command(app)
    async def weight(
        session: Session, pipeline: Pipeline, lane: Key, weight: Annotated[int, typer.Argument(min=1, max=100)]
    ) -> None:
        """Its share of the turns: a lane of weight 3 gets three tasks where one of weight 1 gets one."""
        await (await session.app()).control.lanes.weigh(pipeline, lane, weight, by=actor())
        session.out.show(_data(pipeline, lane, weight=weight), f"Lane {lane} of {pipeline} has weight {weight}.")

    @command(app)
    async def limit(
        session: Session, pipeline: Pipeline, lane: Key, limit: Annotated[str, typer.Argument(metavar="N|none")]
    ) -> None:
        """At most so many of the lane run at a time, in the whole fleet."""
        most = whole_or_none(limit)
        await (await session.app()).control.lanes.limit(pipeline, lane, most, by=actor())
        text = "no limit" if most is None else f"a limit of {most:,} at a time"
        session.out.show(_data(pipeline, lane, max_running=most), f"Lane {lane} of {pipeline} has {text}.")


def _data(pipeline: str, lane: str, **more: Any) -> dict[str, Any]:
    return {"pipeline": pipeline, "lane": lane, **more}


COLUMNS = (
    Column(key="id", title="id", right=True, show=str),
    Column(key="pipeline", title="pipeline"),
    Column(key="key", title="lane", show=lambda value: short(value, 50)),
    Column(key="priority", title="priority"),
    Column(key="weight", title="weight"),
    Column(key="max_running", title="limit", right=True, show=lambda value: "–" if value is None else f"{value:,}"),
    Column(key="waiting", title="waiting"),
    Column(key="running", title="running"),
    Column(key="note", title="state"),
)


def _row(lane: Lane) -> dict[str, Any]:
    note = "active" if lane.active else "resting"
    if lane.cancelled_at is not None:
        note = f"cancelled by {lane.cancelled_by or '–'} {when(lane.cancelled_at, lane.read_at)}"
    elif lane.paused_at is not None:
        why = f": {lane.pause_reason}" if lane.pause_reason else ""
        note = f"paused by {lane.paused_by or '–'} {when(lane.paused_at, lane.read_at)}{why}"
    return {**asdict(lane), "note": clean(note)}
