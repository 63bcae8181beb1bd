"""`penstock status`"""

import typer

from penstock.terminal.command import command
from penstock.terminal.session import Session


def register(app: typer.Typer) -> None:
    @command(app)
    async def status(session: Session) -> None:
        """One screen: database, workers, stages, and what needs attention."""
        from penstock.cli.screen import screen
        from penstock.insight.overview import overview

        async with session.connection() as connection:
            found = await overview(connection, session.settings)
        session.out.show(found, lambda: screen(found))
