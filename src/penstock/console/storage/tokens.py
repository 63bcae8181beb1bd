"""API tokens, by their hashes. One function per query of ``sql/tokens.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("tokens", "penstock.console.storage")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """All that is kept of a token, but its hash: the token itself nobody knows any more."""

    id: int
    user_name: str
    name: str
    hint: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


async def create(
    connection: Connection,
    *,
    user_id: int,
    name: str,
    hash: bytes,
    hint: str,
    expires_at: datetime | None = None,
    expires_days: int | None = None,
) -> tuple[int, datetime | None]:
    """Its id, and when it ends. With neither end it lasts until it is revoked."""
    row = await connection.fetchrow(_sql.create, user_id, name, hash, hint, expires_at, expires_days)
    return row["id"], row["expires_at"]


async def holder(connection: Connection, hash: bytes) -> tuple[str, str] | None:
    """(user name, role) of a token that counts."""
    row = await connection.fetchrow(_sql.holder, hash)
    return None if row is None else (row["name"], row["role"])


async def listing(connection: Connection, *, before_id: int, limit: int) -> list[Token]:
    return [Token(**row) for row in await connection.fetch(_sql.listing, before_id, limit)]


async def listing_of_user(connection: Connection, user_name: str, *, before_id: int, limit: int) -> list[Token]:
    return [Token(**row) for row in await connection.fetch(_sql.listing_of_user, before_id, limit, user_name)]


async def revoke(connection: Connection, token_id: int, *, user_name: str | None) -> Token | None:
    """None where there is none, or, with a user's name, where it is somebody else's."""
    row = await connection.fetchrow(_sql.revoke, token_id, user_name)
    return None if row is None else Token(**row)
