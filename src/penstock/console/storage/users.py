"""Who uses the service. One function per query of ``sql/users.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("users", "penstock.console.storage")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: int
    name: str
    role: str
    created_at: datetime
    disabled_at: datetime | None
    # None: there is no password.
    password_changed_at: datetime | None


async def create(connection: Connection, *, name: str, role: str) -> User | None:
    """None where the name is taken."""
    row = await connection.fetchrow(_sql.create, name, role)
    return None if row is None else User(**row)


async def create_first(connection: Connection, *, name: str, role: str) -> User | None:
    """None where there are users already."""
    row = await connection.fetchrow(_sql.create_first, name, role)
    return None if row is None else User(**row)


async def by_name(connection: Connection, name: str) -> User | None:
    row = await connection.fetchrow(_sql.by_name, name)
    return None if row is None else User(**row)


async def listing(connection: Connection, *, after: str, limit: int) -> list[User]:
    return [User(**row) for row in await connection.fetch(_sql.listing, after, limit)]


async def lock(connection: Connection, name: str) -> None:
    """Until the end of the transaction nobody else changes this user, or who is an admin."""
    await connection.fetch(_sql.lock, name)


async def other_admins(connection: Connection, name: str) -> bool:
    found: bool = await connection.fetchval(_sql.other_admins, name)
    return found


async def change(connection: Connection, name: str, *, role: str | None, disabled: bool | None) -> User | None:
    """None where there is no such user."""
    row = await connection.fetchrow(_sql.change, name, role, disabled)
    return None if row is None else User(**row)


async def password_hash(connection: Connection, name: str) -> str | None:
    """None also for unknown and disabled users."""
    found: str | None = await connection.fetchval(_sql.password_hash, name)
    return found


async def holding_password(connection: Connection, name: str, password_hash: str) -> User | None:
    """None: the password was changed, or the user disabled, since the hash was read."""
    row = await connection.fetchrow(_sql.holding_password, name, password_hash)
    return None if row is None else User(**row)


async def set_password(connection: Connection, name: str, password_hash: str | None) -> User | None:
    """None where there is no such user."""
    row = await connection.fetchrow(_sql.set_password, name, password_hash)
    return None if row is None else User(**row)
