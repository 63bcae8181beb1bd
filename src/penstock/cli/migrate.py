"""`penstock migrate`"""

from typing import Annotated

import typer

from penstock.control import schema
from penstock.core.loading import extensions_of
from penstock.errors import UsageError
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
        # Of the named application, or all that run on this machine.
        extensions = extensions_of(session.app_reference)
        if sql:
            script = schema.script(extensions)
            session.out.show({"sql": script}, script)
            return 0
        if check:
            seen = await schema.look(session.settings, extensions)
            text = f"pending: {', '.join(seen.pending)}" if seen.pending else "nothing is pending"
            data = {"version": seen.version, "needed": seen.needed, "pending": seen.pending}
            session.out.show(data, f"version {seen.version}; {text}")
            if seen.pending:
                session.out.say("Run `penstock migrate` to apply them.")
            return 1 if seen.pending else 0
        done = await schema.upgrade(session.settings, extensions, session.out.say)
        text = f"applied {', '.join(done.applied)}" if done.applied else "nothing to do"
        session.out.show({"version": done.version, "applied": done.applied}, f"version {done.version}; {text}")
        return 0
