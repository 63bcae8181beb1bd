"""`penstock migrate`"""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from penstock.cli import database
from penstock.core.loading import extensions_of
from penstock.errors import UsageError
from penstock.storage import migrate
from penstock.storage.migrate import Migration, as_sql, migrations_of
from penstock.terminal.command import command
from penstock.terminal.session import Session

SqlOption = Annotated[bool, typer.Option("--sql", help="Print the whole schema as SQL and change nothing.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 if something is pending.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def migrate(session: Session, sql: SqlOption = False, check: CheckOption = False) -> int:
        """Bring the database schema up to date, for Penstock and for the extensions of the application.

        Safe while workers run, safe twice at the same time, and safe to interrupt: every migration is one
        transaction, and a table that is busy is waited for in short tries.
        """
        if sql and check:
            raise UsageError("--sql and --check do not go together. Choose one of them.")
        # Of the extensions that the named application has, or of all that run on this machine.
        further = migrations_of(extensions_of(session.app_reference))
        if sql:
            script = as_sql(further)
            session.out.show({"sql": script}, script)
            return 0
        settings = session.settings
        async with database.opened(settings) as place, database.connection(settings, place) as connection:
            return await (_check if check else _migrate)(session, connection, further)


async def _check(session: Session, connection: Any, further: Sequence[Migration]) -> int:
    pending = await migrate.pending(connection, further)
    applied = await migrate.applied(connection)
    names = [one.label for one in pending]
    at = applied[-1] if applied else 0
    text = f"version {at}; pending: {', '.join(names)}" if names else f"version {at}; nothing is pending"
    session.out.show({"version": at, "needed": migrate.newest(), "pending": names}, text)
    if names:
        session.out.say("Run `penstock migrate` to apply them.")
    return 1 if names else 0


async def _migrate(session: Session, connection: Any, further: Sequence[Migration]) -> int:
    applied = await migrate.migrate(connection, further, tell=session.out.say)
    version = (await migrate.applied(connection))[-1]
    names = [one.label for one in applied]
    text = f"version {version}; applied {', '.join(names)}" if names else f"version {version}; nothing to do"
    session.out.show({"version": version, "applied": names}, text)
    return 0
