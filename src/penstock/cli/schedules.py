"""`penstock schedules`"""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.schedules import scheduling
from penstock.schedules.scheduling import ScheduleView
from penstock.terminal.command import command
from penstock.terminal.output import Column, shown
from penstock.terminal.pages import YesOption, actor, confirmed
from penstock.terminal.readable import clean, short, when
from penstock.terminal.session import Session

Name = Annotated[str, typer.Argument(metavar="NAME")]

EMPTY = "No schedules yet. Declare one in code: app.schedule('0 3 * * *', task)."


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(session: Session) -> None:
        """Every schedule with its next times."""
        async with session.connection() as connection:
            views = await scheduling.listing(connection)
        session.out.table([_row(view) for view in views], COLUMNS, empty=EMPTY)

    @command(app)
    async def pause(session: Session, name: Name) -> None:
        """It does not fire until it is resumed; times that pass meanwhile are gone."""
        view = await (await session.app()).control.schedules.pause(name, by=actor())
        session.out.show(_row(view), f"Schedule {name} is paused. `penstock schedules resume {name}` goes on.")

    @command(app)
    async def resume(session: Session, name: Name) -> None:
        """Go on with the next time from now."""
        view = await (await session.app()).control.schedules.resume(name, by=actor())
        session.out.show(_row(view), f"Schedule {name} fires next {_next(view)}.")

    @command(app)
    async def fire(session: Session, name: Name) -> None:
        """Enqueue its task once, now; the next time stays."""
        task_id = await (await session.app()).control.schedules.fire_now(name, by=actor())
        session.out.show({"name": name, "task_id": task_id}, f"Schedule {name} fired: task {task_id}.")

    @command(app)
    async def delete(session: Session, name: Name, yes: YesOption = False) -> None:
        """The tasks it fired stay. Refused for schedules that code declares."""
        async with session.connection() as connection:
            await scheduling.show(connection, name)
        confirmed(session, f"Delete schedule {name!r}?", yes=yes)
        await (await session.app()).control.schedules.delete(name, by=actor())
        session.out.show({"name": name, "deleted": True}, f"Schedule {name} is deleted.")


COLUMNS = (
    Column(key="name", title="schedule", show=lambda value: short(value, 40)),
    Column(key="cron", title="cron"),
    Column(key="timezone", title="zone"),
    Column(key="pipeline", title="fires"),
    Column(key="next", title="next"),
    Column(key="then", title="then"),
    Column(key="note", title="state"),
)


def _next(view: ScheduleView) -> str:
    return when(view.schedule.next_fire_at, view.schedule.read_at)


def _row(view: ScheduleView) -> dict[str, Any]:
    row = view.schedule
    note = "on"
    if row.paused_at is not None:
        note = f"paused by {row.paused_by or '–'} {when(row.paused_at, row.read_at)}"
    elif row.last_error:
        note = f"failed: {row.last_error}"
    elif row.next_fire_at is None:
        note = "has no next time"
    return {
        **asdict(row),
        "upcoming": view.upcoming,
        "next": "–" if not view.upcoming else _next(view),
        "then": ", ".join(shown(at) for at in view.upcoming[1:3]) or "–",
        "note": clean(note),
    }
