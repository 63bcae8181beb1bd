"""`penstock settings`: what admins change while everything runs. `penstock config` shows the environment's."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.control import preferences
from penstock.control.acting import By
from penstock.errors import InvalidSetting
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.session import Session

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `penstock settings list` shows it.")]
NewValue = Annotated[str, typer.Argument(metavar="VALUE", help="true or false, or a number of days.")]

_TRUTHS = {"true": True, "false": False, "on": True, "off": False}


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(session: Session) -> None:
        """Every one: what counts now, and what the environment says."""
        application = await session.app()
        async with application.connection() as connection:
            found = await preferences.read(connection, application.settings)
        session.out.table([asdict(one) for one in found.values()], COLUMNS)

    @command(app, "set")
    async def put(session: Session, name: Name, value: NewValue) -> None:
        """Change one, in the whole fleet: at once, or within a minute for what is removed."""
        changed = await preferences.change(await session.app(), {name: _read(name, value)}, by=By.command_line())
        session.out.show(asdict(changed[name]), f"{name} is {_shown(changed[name].value)} now.")

    @command(app)
    async def reset(session: Session, name: Name) -> None:
        """Take a change back: what the environment says counts again."""
        changed = await preferences.change(await session.app(), {name: None}, by=By.command_line())
        session.out.show(asdict(changed[name]), f"{name} is {_shown(changed[name].value)} again.")


def _read(name: str, text: str) -> bool | float:
    if text.lower() in _TRUTHS:
        return _TRUTHS[text.lower()]
    try:
        return float(text)
    except ValueError:
        raise InvalidSetting(name, text, "write true or false, or a number of days") from None


def _shown(value: Any) -> str:
    match value:
        case None:
            return "for ever"
        case bool():
            return "on" if value else "off"
        case _:
            return f"{value:g} days"


COLUMNS = (
    Column(key="name", title="setting"),
    Column(key="value", title="value", show=_shown),
    Column(key="default", title="environment", show=_shown),
    Column(key="changed_by", title="changed by"),
    Column(key="changed_at", title="changed"),
    Column(key="about", title="what it does"),
)
