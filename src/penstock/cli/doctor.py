"""`penstock doctor`"""

from dataclasses import asdict

import typer

from penstock.cli import database
from penstock.config import setting_fields, unknown_variables
from penstock.core.loading import extensions_of
from penstock.errors import DatabaseError, UsageError
from penstock.extension import declared_settings
from penstock.insight.doctor import CHECKS, Finding, Health, examine, worst
from penstock.storage import database as links
from penstock.terminal.command import command
from penstock.terminal.errors import exit_code_of
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

_MARKS = {"ok": "ok  ", "warn": "WARN", "bad": "BAD "}


def register(app: typer.Typer) -> None:
    @command(app)
    async def doctor(session: Session) -> int:
        """Look for what is wrong, each finding with its fix. Exit 1 if something is bad.

        Needs no migrated schema: also for a database that is old, damaged or only half set up.
        """
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


def _settings() -> list[Finding]:
    """Not a check of the database: needed also when that is away, as it may be the reason."""
    unknown = unknown_variables(further=setting_fields(declared_settings()))
    if not unknown:
        return [Finding(check="settings", health=Health.OK, finding="Every PENSTOCK_ variable is a setting.")]
    return [
        Finding(check="settings", health=Health.WARN, finding=f"{one.sentence}.", fix=one.next_step) for one in unknown
    ]


async def _examine(session: Session) -> list[Finding]:
    settings = session.settings
    try:
        # By the extensions of the named application, or of all on this machine.
        brought = [check for one in extensions_of(session.app_reference) for check in one.find(one.checks)]
        checks, refused = (*CHECKS, *brought), []
    except UsageError as error:
        fix = "Correct or uninstall it; the other findings stand."
        checks, refused = CHECKS, [Finding(check="extensions", health=Health.BAD, finding=str(error), fix=fix)]
    async with database.opened(settings) as place:
        connection = await links.connect(settings, place.url, purpose="doctor")
        try:
            home = None if place.server is None else place.server.home
            return [*refused, *await examine(connection, settings, home=home, checks=checks)]
        finally:
            connection.terminate()


def _show(session: Session, findings: list[Finding]) -> None:
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
