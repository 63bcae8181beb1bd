"""Who uses the service. One function per query of ``sql/users.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("users")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: int
    name: str
    role: str
    created_at: datetime
    disabled_at: datetime | None


async def create(connection: Connection, *, name: str, role: str) -> User | None:
    """None where the name is taken."""
    row = await connection.fetchrow(_sql.create, name, role)
    return None if row is None else User(**row)


async def by_name(connection: Connection, name: str) -> User | None:
    row = await connection.fetchrow(_sql.by_name, name)
    return None if row is None else User(**row)
