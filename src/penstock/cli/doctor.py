"""`penstock doctor`"""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from penstock.cli.command import command
from penstock.cli.errors import exit_code_of
from penstock.cli.readable import clean
from penstock.cli.session import Session

if TYPE_CHECKING:
    from penstock.engine.doctor import Finding

_MARKS = {"ok": "ok  ", "warn": "WARN", "bad": "BAD "}


def register(app: typer.Typer) -> None:
    @command(app)
    async def doctor(session: Session) -> int:
        """Look for what is wrong, each finding with its fix. Exit 1 if something is bad.

        Needs no migrated schema: also for a database that is old, damaged or only half set up.
        """
        from penstock.engine.doctor import Finding, Health, worst
        from penstock.errors import DatabaseError

        try:
            findings = await _examine(session)
        except DatabaseError as error:
            sentence, _, rest = str(error).partition(". ")
            away = Finding(check="connection", health=Health.BAD, finding=f"{sentence}.", fix=rest or None)
            _show(session, [*_settings(), away])
            return exit_code_of(error)
        findings = [*_settings(), *findings]
        _show(session, findings)
        return 1 if worst(findings) is Health.BAD else 0


def _settings() -> "list[Finding]":
    """Not a check of the database: needed also when that is away, as it may be the reason."""
    from penstock.config import unknown_variables
    from penstock.engine.doctor import Finding, Health

    unknown = unknown_variables()
    if not unknown:
        return [Finding(check="settings", health=Health.OK, finding="Every PENSTOCK_ variable is a setting.")]
    return [
        Finding(check="settings", health=Health.WARN, finding=f"{one.sentence}.", fix=one.next_step) for one in unknown
    ]


async def _examine(session: Session) -> "list[Finding]":
    from penstock.cli import database
    from penstock.engine.doctor import examine
    from penstock.storage import database as links

    settings = session.settings
    async with database.opened(settings) as place:
        connection = await links.connect(settings, place.url, purpose="doctor")
        try:
            return await examine(connection, settings, home=None if place.server is None else place.server.home)
        finally:
            connection.terminate()


def _show(session: Session, findings: "list[Finding]") -> None:
    if session.out.json:
        session.out.emit([asdict(one) for one in findings])
        return
    width = max(len(one.check) for one in findings)
    lines = []
    for one in findings:
        lines.append(f"{_MARKS[one.health]}  {one.check.ljust(width)}  {clean(one.finding)}")
        if one.fix:
            lines.append(f"{' ' * (width + 8)}→ {clean(one.fix)}")
    session.out.show(None, "\n".join(lines))
