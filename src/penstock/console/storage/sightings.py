"""What was seen at a source, and what became of it. One function per query of ``sql/sightings.sql``."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("sightings", "penstock.console.storage")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One file of a listing. ``version`` changes whenever its content may have changed."""

    path: str
    version: str
    size_bytes: int

    @property
    def key(self) -> bytes:
        return hashlib.sha256(f"{self.path}\0{self.version}".encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken(Seen):
    """A version of a file that this scanner works on."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    id: int
    path: str
    state: str
    job_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    id: int
    path: str
    version: str
    size_bytes: int
    state: str
    job_id: int | None
    problem: str | None
    tries: int
    first_seen_at: datetime
    settled_at: datetime | None


async def observe(connection: Connection, source_id: int, scan: int, batch: Sequence[Seen]) -> int:
    """How many of them nobody had seen before."""
    columns = ([getattr(one, name) for one in batch] for name in ("key", "path", "version", "size_bytes"))
    rows = await connection.fetch(_sql.observe, source_id, scan, *columns)
    return sum(row["created"] for row in rows)


async def states(connection: Connection, source_id: int, keys: Sequence[bytes]) -> dict[bytes, str]:
    return {row["key"]: row["state"] for row in await connection.fetch(_sql.states, source_id, keys)}


async def replace(connection: Connection, source_id: int, scan: int) -> None:
    await connection.execute(_sql.replace, source_id, scan)


async def miss(connection: Connection, source_id: int, scan: int) -> list[str]:
    return [row["path"] for row in await connection.fetch(_sql.miss, source_id, scan)]


async def take(
    connection: Connection, source_id: int, scan: int, *, stable_seconds: float, hold_seconds: float, limit: int
) -> list[Taken]:
    rows = await connection.fetch(_sql.take, source_id, scan, stable_seconds, hold_seconds, limit)
    return sorted((Taken(**row) for row in rows), key=lambda taken: taken.id)


async def waiting(connection: Connection, source_id: int, scan: int) -> int:
    count: int = await connection.fetchval(_sql.waiting, source_id, scan)
    return count


async def hold(connection: Connection, sighting_id: int, sha256: bytes) -> bool:
    """False: somebody has settled the row. A unique violation: another file of the source has the content."""
    return await connection.fetchval(_sql.hold, sighting_id, sha256) is not None


async def holder(connection: Connection, source_id: int, sha256: bytes) -> Holder | None:
    row = await connection.fetchrow(_sql.holder, source_id, sha256)
    return None if row is None else Holder(**row)


async def settle(
    connection: Connection,
    sighting_id: int,
    *,
    state: str,
    sha256: bytes | None = None,
    job_id: int | None = None,
    problem: str | None = None,
    cleared: bool = True,
) -> bool:
    settled = await connection.fetchval(_sql.settle, sighting_id, state, sha256, job_id, problem, cleared)
    return settled is not None


async def release(connection: Connection, sighting_id: int, problem: str) -> None:
    await connection.execute(_sql.release, sighting_id, problem)


async def uncleared(connection: Connection, source_id: int, *, after_id: int, limit: int) -> list[Taken]:
    return [Taken(**row) for row in await connection.fetch(_sql.uncleared, source_id, after_id, limit)]


async def cleared(connection: Connection, sighting_ids: Sequence[int]) -> None:
    await connection.execute(_sql.cleared, sighting_ids)


async def page(
    connection: Connection, source_id: int, *, before_id: int, state: str | None, limit: int
) -> list[Sighting]:
    return [Sighting(**row) for row in await connection.fetch(_sql.page, source_id, before_id, state, limit)]
