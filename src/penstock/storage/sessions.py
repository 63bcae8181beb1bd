"""Logged-in browsers, by the hashes of their cookies. One function per query of ``sql/sessions.sql``."""

from typing import Any

from penstock.storage.queries import load

_sql = load("sessions")
Connection = Any


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


async def forget(connection: Connection, kept_seconds: float, batch: int) -> int:
    """Returns how many are gone."""
    status: str = await connection.execute(_sql.forget, kept_seconds, batch)
    return int(status.rsplit(maxsplit=1)[-1])
