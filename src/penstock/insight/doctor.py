"""Looks for what is wrong, each finding with its fix.

Works on a database that is old, half-installed or damaged: a check that cannot look says so and the others go on.
"""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from penstock.brokers import checks as brokers
from penstock.config import Settings
from penstock.errors import UsageError
from penstock.extension import Extension
from penstock.insight.checks import fleet, server
from penstock.observe.finding import Check, Finding, Health, Patient, Result, bad
from penstock.storage import database, migrate

__all__ = ["CHECKS", "Finding", "Health", "examine", "worst"]

CHECKS: tuple[Check, ...] = (*server.CHECKS, *fleet.CHECKS, *brokers.CHECKS)
_CHECK_SECONDS = 10.0


async def examine_at(
    url: str, settings: Settings, *, home: Path | None, extensions: Iterable[Extension], in_use: bool
) -> list[Finding]:
    """On a connection of its own. ``in_use``: of the extensions, those that the database has been used with."""
    connection = await database.connect(settings, url, purpose="doctor")
    try:
        if in_use:
            extensions = await migrate.present(connection, extensions)
        return await examine(connection, settings, home=home, extensions=extensions)
    finally:
        connection.terminate()


async def examine(
    connection: Any,
    settings: Settings,
    *,
    home: Path | None = None,
    checks: Sequence[Check] = CHECKS,
    extensions: Iterable[Extension] = (),
) -> list[Finding]:
    """``home``: the folder of the embedded server, where it is in use. ``extensions``: those the application has; their
    schemas and their own checks are looked at, too. Of a database without Penstock's tables, what needs none."""
    patient = Patient(connection=connection, settings=settings, home=home)
    brought = [check for extension in extensions for check in _checks_of(extension)]
    installed = bool(await migrate.applied(connection))
    return [await _look(check, patient) for check in (*checks, *brought) if installed or check.bare]


def _checks_of(extension: Extension) -> tuple[Check, ...]:
    name = f"schema of {extension.name}"
    try:
        steps = migrate.migrations_of([extension])
        own = tuple(extension.find(extension.checks))
    except UsageError as error:
        return (Check(name=f"extension {extension.name}", look=partial(_refused, str(error))),)
    return (Check(name=name, look=partial(fleet.schema_of_extension, steps)), *own) if steps else own


async def _refused(problem: str, patient: Patient) -> Result:
    return bad(problem, "Correct or uninstall it; the other findings stand.")


async def _look(check: Check, patient: Patient) -> Finding:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            health, sentence, fix = await check.look(patient)
    except Exception as error:
        cause = str(error) or type(error).__name__
        return Finding(
            check=check.name,
            health=Health.WARN,
            finding=f"This could not be looked at: {cause}",
            fix="Mend what the other findings say first; if it stays, the message above is the cause.",
        )
    return Finding(check=check.name, health=health, finding=sentence, fix=fix)


def worst(findings: Sequence[Finding]) -> Health:
    order = (Health.OK, Health.WARN, Health.BAD)
    return max((finding.health for finding in findings), key=order.index, default=Health.OK)
