"""Files as they were sent, in chunks. One function per query of ``sql/files.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.storage.queries import load

_sql = load("files", "penstock.console.storage")
Connection = Any
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    id: int
    owner: str
    name: str
    media_type: str
    ip: str | None
    size_bytes: int | None
    sha256: bytes | None
    created_at: datetime
    stored_at: datetime | None


async def create(connection: Connection, *, owner: str, name: str, media_type: str, ip: str | None) -> int:
    file_id: int = await connection.fetchval(_sql.create, owner, name, media_type, ip)
    return file_id


async def append(connection: Connection, file_id: int, number: int, data: bytes) -> None:
    """Chunks are numbered from 0; all but the last hold ``CHUNK_BYTES``."""
    await connection.execute(_sql.append, file_id, number, data)


async def finish(connection: Connection, file_id: int, *, size_bytes: int, sha256: bytes, media_type: str) -> None:
    await connection.execute(_sql.finish, file_id, size_bytes, sha256, media_type)


async def belong(connection: Connection, file_ids: Sequence[int], job_id: int) -> None:
    await connection.execute(_sql.belong, file_ids, job_id)


async def get(connection: Connection, file_id: int) -> File | None:
    row = await connection.fetchrow(_sql.get, file_id)
    return None if row is None else File(**row)


async def read_chunk(connection: Connection, file_id: int, number: int, *, job_id: int | None) -> bytes | None:
    """None behind the last one, and where the file is none of this job."""
    data: bytes | None = await connection.fetchval(_sql.read_chunk, file_id, number, job_id)
    return data


async def earlier_job(connection: Connection, *, owner: str, sha256: bytes, but: int) -> int | None:
    job: int | None = await connection.fetchval(_sql.earlier_job, owner, sha256, but)
    return job


async def discard(connection: Connection, file_ids: Sequence[int]) -> None:
    """Those that no job has."""
    await connection.execute(_sql.discard, file_ids)


async def unfinished(connection: Connection, limit: int) -> list[int]:
    return [row["id"] for row in await connection.fetch(_sql.unfinished, limit)]
