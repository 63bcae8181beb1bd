"""`penstock top`"""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.status import screen
from penstock.errors import DatabaseError
from penstock.insight.overview import Overview, overview
from penstock.terminal.command import command
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from rich.text import Text

EveryOption = Annotated[float, typer.Option("--every", min=0.2, max=3600, help="Seconds between two looks.")]
OnceOption = Annotated[bool, typer.Option("--once", help="Look once and leave.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def top(session: Session, every: EveryOption = 1.0, once: OnceOption = False) -> None:
        """The status, live. Ctrl-C leaves. With -o json one document per look."""
        if once:
            await _print(session)
        elif session.out.json or not sys.stdout.isatty():
            while True:
                await _print(session)
                await asyncio.sleep(every)
        else:
            await _live(session, every)


async def _look(session: Session) -> "Overview":
    async with session.connection() as connection:
        return await overview(connection, session.settings)


async def _print(session: Session) -> None:
    found = await _look(session)
    session.out.show(found, lambda: screen(found))


async def _live(session: Session, every: float) -> None:
    """A database that is away for a while is told on the screen; the view comes back with it."""
    from rich.live import Live
    from rich.text import Text

    shown = screen(await _look(session))
    with Live(_cut(shown), screen=True, auto_refresh=False, transient=True) as live:
        while True:
            await asyncio.sleep(every)
            try:
                shown = screen(await _look(session))
                live.update(_cut(shown), refresh=True)
            except DatabaseError as error:
                live.update(Text(f"{error}\n\nbefore that:\n{shown}", no_wrap=True, overflow="ellipsis"), refresh=True)


def _cut(text: str) -> "Text":
    """Lines longer than the window end in …, so that rows stay rows."""
    from rich.text import Text

    return Text(text, no_wrap=True, overflow="ellipsis")
