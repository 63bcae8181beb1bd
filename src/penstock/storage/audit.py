"""Who did what. One function per query of ``sql/audit.sql``."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from penstock.storage.queries import load

_sql = load("audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    actor: str
    action: str
    ip: str | None = None
    kind: str | None = None
    object: str | None = None
    owner: str | None = None
    request_id: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


async def append(connection: Any, entry: Entry) -> None:
    """On the connection, and in the transaction, of the act itself where there is one."""
    await connection.execute(
        _sql.append,
        entry.actor,
        entry.ip,
        entry.action,
        entry.kind,
        entry.object,
        entry.owner,
        entry.request_id,
        orjson.dumps(entry.details).decode(),
    )
