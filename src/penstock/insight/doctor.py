"""Looks for what is wrong, each finding with its fix.

Works on a database that is old, half-installed or damaged: a check that cannot look says so and the others go on.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.brokers import checks as brokers
from penstock.config import Settings
from penstock.insight.checks import fleet, server
from penstock.observe.finding import Check, Finding, Health, Patient

__all__ = ["CHECKS", "Finding", "Health", "examine", "worst"]

CHECKS: tuple[Check, ...] = (*server.CHECKS, *fleet.CHECKS, *brokers.CHECKS)
_CHECK_SECONDS = 10.0


async def examine(
    connection: Any, settings: Settings, *, home: Path | None = None, checks: Sequence[Check] = CHECKS
) -> list[Finding]:
    """``home``: the folder of the embedded server, where it is in use."""
    patient = Patient(connection=connection, settings=settings, home=home)
    return [await _look(check, patient) for check in checks]


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
