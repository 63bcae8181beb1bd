"""`penstock doctor`"""

from collections.abc import Sequence
from dataclasses import asdict

import typer

from penstock.config import setting_fields, unknown_variables
from penstock.control import schema
from penstock.core.loading import extensions_of
from penstock.errors import DatabaseError, UsageError
from penstock.extension import Extension, declared_settings
from penstock.insight.doctor import Finding, Health, examine_at, worst
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
        extensions, refused = _extensions(session)
        settled = [*_settings(extensions), *refused]
        try:
            findings = await _examine(session, extensions)
        except DatabaseError as error:
            sentence, _, rest = str(error).partition(". ")
            away = Finding(check="connection", health=Health.BAD, finding=f"{sentence}.", fix=rest or None)
            _show(session, [*settled, away])
            return exit_code_of(error)
        findings = [*settled, *findings]
        _show(session, findings)
        return 1 if worst(findings) is Health.BAD else 0


def _extensions(session: Session) -> tuple[tuple[Extension, ...], list[Finding]]:
    """Of the named application, or of all on this machine; or what keeps them from being read."""
    try:
        return extensions_of(session.app_reference), []
    except UsageError as error:
        fix = "Correct or uninstall it; the other findings stand."
        return (), [Finding(check="extensions", health=Health.BAD, finding=str(error), fix=fix)]


def _settings(extensions: Sequence[Extension]) -> list[Finding]:
    """Not a check of the database: needed also when that is away, as it may be the reason."""
    kinds = [*declared_settings(), *(kind for one in extensions for kind in one.settings_found())]
    unknown = unknown_variables(further=setting_fields(kinds))
    if not unknown:
        return [Finding(check="settings", health=Health.OK, finding="Every PENSTOCK_ variable is a setting.")]
    return [
        Finding(check="settings", health=Health.WARN, finding=f"{one.sentence}.", fix=one.next_step) for one in unknown
    ]


async def _examine(session: Session, extensions: Sequence[Extension]) -> list[Finding]:
    """Where no application is named: of all extensions on this machine, those that this database was used with."""
    async with schema.opened(session.settings) as place:
        home = None if place.server is None else place.server.home
        return await examine_at(
            place.url, session.settings, home=home, extensions=extensions, in_use=session.app_reference is None
        )


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
