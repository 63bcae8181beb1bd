"""One-time logins, by their hashes. One function per query of ``sql/login_links.sql``."""

from typing import Any

from penstock.console.storage.users import User
from penstock.storage.queries import load

_sql = load("login_links", "penstock.console.storage")
Connection = Any


async def create(connection: Connection, *, hash: bytes, user_id: int, lasts_seconds: float) -> None:
    await connection.execute(_sql.create, hash, user_id, lasts_seconds)


async def use(connection: Connection, hash: bytes) -> User | None:
    """Whom it lets in; None where it is unknown, used, too old, or of a disabled user."""
    row = await connection.fetchrow(_sql.use, hash)
    return None if row is None else User(**row)


async def use_up(connection: Connection, user_id: int) -> None:
    await connection.execute(_sql.use_up, user_id)


async def forget(connection: Connection, kept_seconds: float, batch: int) -> int:
    """Returns how many are gone."""
    status: str = await connection.execute(_sql.forget, kept_seconds, batch)
    return int(status.rsplit(maxsplit=1)[-1])
