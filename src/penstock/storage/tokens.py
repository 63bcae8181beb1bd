"""API tokens, by their hashes. One function per query of ``sql/tokens.sql``."""

from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("tokens")
Connection = Any


async def create(
    connection: Connection, *, user_id: int, name: str, hash: bytes, hint: str, expires_at: datetime | None
) -> int:
    token_id: int = await connection.fetchval(_sql.create, user_id, name, hash, hint, expires_at)
    return token_id


async def holder(connection: Connection, hash: bytes) -> tuple[str, str] | None:
    """(user name, role) of a token that counts."""
    row = await connection.fetchrow(_sql.holder, hash)
    return None if row is None else (row["name"], row["role"])
