"""How far files are stored as rows. One function per query of ``sql/imports.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock.storage.queries import Command, Connection, Records, load

_sql = load("imports")


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    job_id: int
    file_id: int
    task_id: int | None
    kind: str
    shape: Mapping[str, Any]
    state: str
    rows_stored: int
    bytes_read: int
    size_bytes: int | None
    batch_rows: int | None
    batch_why: str | None
    problem: Mapping[str, Any] | None
    updated_at: datetime
    pipeline: str
    owner: str
    cancelled: bool

    @property
    def open(self) -> bool:
        """Rows may still come."""
        return self.state in ("waiting", "storing") and not self.cancelled


async def create(connection: Connection, *, job_id: int, file_id: int, kind: str, shape: Mapping[str, Any]) -> None:
    await connection.execute(_sql.create, job_id, file_id, kind, orjson.dumps(shape).decode())


assign = Command[[int, int]](_sql.assign)  # job_id, task_id
_get = Records[[Sequence[int]], Import](_sql.get, Import, json=("shape", "problem"))  # job_ids


async def get_many(connection: Connection, job_ids: Sequence[int]) -> dict[int, Import]:
    return {one.job_id: one for one in await _get(connection, job_ids)}


async def get(connection: Connection, job_id: int) -> Import | None:
    return (await get_many(connection, [job_id])).get(job_id)


async def advance(connection: Connection, job_id: int, *, before: int, rows: int, bytes_read: int, why: str) -> bool:
    """False: somebody else goes on with it, or the job was cancelled; the caller rolls back."""
    return await connection.fetchval(_sql.advance, job_id, before, rows, bytes_read, why) is not None


async def finish(connection: Connection, job_id: int, state: str, problem: Mapping[str, Any] | None = None) -> bool:
    text = None if problem is None else orjson.dumps(problem).decode()
    return await connection.fetchval(_sql.finish, job_id, state, text) is not None
