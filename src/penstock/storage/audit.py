"""Who did what. One function per query of ``sql/audit.sql``; ``page`` chooses the one whose index fits."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from penstock.storage.queries import Affected, load

_sql = load("audit")
_LOOKED_AT = 5000
FROM_THE_NEWEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``look``: nothing was changed; somebody who may read everything read what is another's."""

    actor: str
    action: str
    ip: str | None = None
    kind: str | None = None
    object: str | None = None
    owner: str | None = None
    request_id: str | None = None
    look: bool = False
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry(Entry):
    id: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """``concerning``: only what this user did, or what was done to this user's objects."""

    actor: str | None = None
    action: str | None = None
    kind: str | None = None
    object: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    concerning: str | None = None
    looks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """``next_before_id`` None: there is no more. A page may be empty and still have a next one."""

    entries: list[StoredEntry]
    next_before_id: int | None


async def append(connection: Any, entry: Entry) -> None:
    """On the connection, and in the transaction, of the act itself where there is one."""
    who, what = (entry.actor, entry.ip), (entry.action, entry.kind, entry.object, entry.owner)
    details = orjson.dumps(entry.details).decode()
    await connection.execute(_sql.append, *who, *what, entry.request_id, entry.look, details)


async def page(
    connection: Any, chosen: AuditFilter, *, before_id: int = FROM_THE_NEWEST, limit: int, looked_at: int = _LOOKED_AT
) -> AuditPage:
    """Newest first. ``looked_at`` bounds how many entries one page may look at."""
    lowest, highest = await _ids_of(connection, chosen)
    wanted = (chosen.actor, chosen.action, chosen.kind, chosen.object, chosen.since, chosen.until)
    values = (min(before_id, highest + 1), looked_at, limit, *wanted, lowest, chosen.looks)
    if chosen.concerning is not None:
        rows = await connection.fetch(_sql.newest_concerning, *values, chosen.concerning)
    elif chosen.kind is not None and chosen.object is not None:
        rows = await connection.fetch(_sql.newest_on_object, *values)
    elif chosen.actor is not None:
        rows = await connection.fetch(_sql.newest_by_actor, *values)
    else:
        rows = await connection.fetch(_sql.newest, *values)
    entries = [_entry(row) for row in rows if row["id"] is not None]
    if len(entries) == limit:
        return AuditPage(entries=entries, next_before_id=entries[-1].id)
    window_full = rows[0]["looked"] == looked_at
    return AuditPage(entries=entries, next_before_id=rows[0]["last_id"] if window_full else None)


async def _ids_of(connection: Any, chosen: AuditFilter) -> tuple[int, int]:
    """Between which ids the time that was asked for lies, so that a page of long ago begins there."""
    lowest, highest = 0, FROM_THE_NEWEST - 1
    if chosen.since is not None:
        lowest = await connection.fetchval(_sql.first_since, chosen.since) or FROM_THE_NEWEST
    if chosen.until is not None:
        highest = await connection.fetchval(_sql.last_until, chosen.until) or 0
    return lowest, highest


# Returns how many are gone.
forget = Affected[[float, int]](_sql.forget)  # kept_seconds, batch


def _entry(row: Any) -> StoredEntry:
    values = {name: value for name, value in row.items() if name not in ("looked", "last_id")}
    return StoredEntry(**{**values, "details": orjson.loads(values["details"])})
