"""What admins change while everything runs. One function per query of ``sql/preferences.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock.storage.queries import Command, Connection, Records, load

_sql = load("preferences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    name: str
    value: Any
    changed_by: str
    changed_at: datetime


_all = Records[[], Stored](_sql.all, Stored, json=("value",))
remove = Command[[str]](_sql.remove)


async def all_stored(connection: Connection) -> dict[str, Stored]:
    """By name; also those that a newer or older release knows."""
    return {one.name: one for one in await _all(connection)}


async def put(connection: Connection, name: str, value: Any, *, changed_by: str) -> None:
    await connection.execute(_sql.put, name, orjson.dumps(value).decode(), changed_by)
