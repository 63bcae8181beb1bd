"""Settings that admins change while everything runs: features, and how long things are kept."""

from collections.abc import Mapping
from typing import Any

from penstock.control.acting import By
from penstock.core.app import App
from penstock.core.preferences import FLAGS, LEAST_DAYS, MOST_DAYS, PREFERENCES, Value, flags, problem_of, read
from penstock.errors import InvalidSetting, NotKnown
from penstock.storage import audit, preferences

__all__ = ["FLAGS", "LEAST_DAYS", "MOST_DAYS", "Value", "change", "flags", "read"]


async def change(app: App, wanted: Mapping[str, Any], *, by: By) -> dict[str, Value]:
    """None takes a change back. Each that is different afterwards is in the audit log, also one that follows."""
    for name, value in wanted.items():
        if name not in PREFERENCES:
            raise NotKnown(kind="setting", name=name)
        if value is not None and (problem := problem_of(PREFERENCES[name], value)) is not None:
            raise InvalidSetting(name, value, problem)
    async with app.connection() as connection, connection.transaction():
        before = await read(connection, app.settings)
        for name, value in wanted.items():
            if value is None:
                await preferences.remove(connection, name)
            else:
                await preferences.put(connection, name, value, changed_by=by.actor)
        after = await read(connection, app.settings)
        for name in PREFERENCES:
            if before[name].value != after[name].value:
                entry = by.entry(
                    "setting.change", kind="setting", object=name, before=before[name].value, value=after[name].value
                )
                await audit.append(connection, entry)
    return after
