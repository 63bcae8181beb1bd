"""Settings that admins change while everything runs: features, and how long things are kept.

The environment says what counts until somebody changes it. What is stored counts in every process from its next look
on: the service looks with each request, retention with each run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from penstock.config import Settings
from penstock.storage import preferences
from penstock.storage.preferences import Stored

LEAST_DAYS = 1.0
MOST_DAYS = 36_500.0
# Ended tasks of no job, where nothing is set.
SINGLE_DAYS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """``setting``: of the environment, which it stands in for; None: nothing there, so that nothing is removed.
    ``follows``: what counts where neither is given."""

    name: str
    about: str
    kind: type[bool] | type[float]
    setting: str | None = None
    follows: str | None = None


PREFERENCES = {
    one.name: one
    for one in (
        Preference(
            name="pendingPage",
            about="The list of waiting items over all jobs, in the navigation and under /api/pending.",
            kind=bool,
            setting="pending_page",
        ),
        Preference(
            name="endedItemsDays",
            about="Ended items are removed after this many days, and then jobs that hold none any more. Until it is"
            f" set, items of jobs are kept for ever; ended tasks of no job are removed after {SINGLE_DAYS:g} days.",
            kind=float,
            setting="retention_days",
        ),
        Preference(
            name="deadLettersDays",
            about="Items that failed for good, and messages nobody could read, are removed after this many days.",
            kind=float,
            follows="endedItemsDays",
        ),
        Preference(name="auditDays", about="Entries of the audit log are removed after this many days.", kind=float),
    )
}
FLAGS = tuple(one.name for one in PREFERENCES.values() if one.kind is bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """``value`` counts; None: without end. ``default`` counts again when the change is taken back. ``ignored``: what is
    stored and cannot be, with why."""

    name: str
    about: str
    value: bool | float | None
    default: bool | float | None
    changed_by: str | None = None
    changed_at: datetime | None = None
    ignored: str | None = None


async def read(connection: Any, settings: Settings) -> dict[str, Value]:
    return counting(await preferences.all_stored(connection), settings)


def counting(stored: Mapping[str, Stored], settings: Settings) -> dict[str, Value]:
    """What is stored and cannot be (somebody wrote into the table) does not count."""
    values: dict[str, Value] = {}
    for name, one in PREFERENCES.items():
        default: Any = None
        if one.setting is not None:
            default = getattr(settings, one.setting)
        elif one.follows is not None:
            default = values[one.follows].value
        found = stored.get(name)
        problem = None if found is None else problem_of(one, found.value)
        value = Value(name=name, about=one.about, value=default, default=default)
        if found is not None and problem is None:
            value = replace(value, value=found.value, changed_by=found.changed_by, changed_at=found.changed_at)
        elif found is not None:
            value = replace(value, ignored=f"{found.value!r} is stored, which does not count: {problem}.")
        values[name] = value
    return values


async def flags(connection: Any, settings: Settings) -> dict[str, bool]:
    values = await read(connection, settings)
    return {name: bool(values[name].value) for name in FLAGS}


def problem_of(one: Preference, value: object) -> str | None:
    """Why this value cannot be; None: it can."""
    if one.kind is bool:
        return None if isinstance(value, bool) else "it has to be true or false"
    if isinstance(value, int | float) and not isinstance(value, bool) and LEAST_DAYS <= value <= MOST_DAYS:
        return None
    return f"it has to be a number of days from {LEAST_DAYS:g} to {MOST_DAYS:,.0f}"
