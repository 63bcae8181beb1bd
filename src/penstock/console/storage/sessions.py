"""Logged-in browsers, by the hashes of their cookies. One function per query of ``sql/sessions.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("sessions", "penstock.console.storage")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """``current``: the one that asks."""

    id: int
    ip: str | None
    agent: str | None
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    current: bool


async def create(
    connection: Connection, *, user_id: int, hash: bytes, ip: str | None, agent: str | None, idle_seconds: float
) -> None:
    await connection.execute(_sql.create, user_id, hash, ip, agent, idle_seconds)


async def holder(
    connection: Connection, hash: bytes, *, idle_seconds: float, longest_seconds: float
) -> tuple[str, str] | None:
    """(user name, role) of a session that counts; its use keeps it alive."""
    row = await connection.fetchrow(_sql.holder, hash, idle_seconds, longest_seconds)
    return None if row is None else (row["name"], row["role"])


async def revoke(connection: Connection, hash: bytes, *, user_name: str) -> bool:
    """False where there was nothing to end."""
    return await connection.fetchval(_sql.revoke, hash, user_name) is not None


async def revoke_all(connection: Connection, user_id: int) -> None:
    await connection.execute(_sql.revoke_all, user_id)


async def listing(connection: Connection, user_name: str, *, hash: bytes | None, limit: int) -> list[Session]:
    return [Session(**row) for row in await connection.fetch(_sql.listing, user_name, hash, limit)]


async def revoke_one(connection: Connection, session_id: int, *, user_name: str) -> bool:
    """False where this user has no such session that counts."""
    return await connection.fetchval(_sql.revoke_one, session_id, user_name) is not None


async def revoke_others(connection: Connection, user_name: str, *, keep: bytes | None) -> int:
    """Returns how many ended."""
    return len(await connection.fetch(_sql.revoke_others, user_name, keep))


async def forget(connection: Connection, kept_seconds: float, batch: int) -> int:
    """Returns how many are gone."""
    status: str = await connection.execute(_sql.forget, kept_seconds, batch)
    return int(status.rsplit(maxsplit=1)[-1])
