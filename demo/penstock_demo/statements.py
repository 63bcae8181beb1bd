"""Taking the demonstration away again. One function per query of ``sql/demo.sql``."""

from collections.abc import Sequence
from typing import Any

from penstock.storage.queries import load

_sql = load("demo", "penstock_demo")
Connection = Any


async def bound(connection: Connection) -> None:
    """First statement of the transaction."""
    await connection.execute(_sql.bound)


async def lock(connection: Connection) -> None:
    await connection.execute(_sql.lock)


async def delete_schedules(connection: Connection, source: str, pipelines: Sequence[str]) -> list[str]:
    return [row["name"] for row in await connection.fetch(_sql.delete_schedules, source, pipelines)]


async def delete_tasks(connection: Connection, pipelines: Sequence[str], job_prefix: str, key_prefix: str) -> int:
    count: int = await connection.fetchval(_sql.delete_tasks, pipelines, job_prefix, key_prefix)
    return count


async def delete_jobs(connection: Connection, pipelines: Sequence[str], job_prefix: str) -> int:
    count: int = await connection.fetchval(_sql.delete_jobs, pipelines, job_prefix)
    return count


async def delete_stages(connection: Connection, pipelines: Sequence[str]) -> list[str]:
    """The pipelines that are gone."""
    return [row["pipeline"] for row in await connection.fetch(_sql.delete_stages, pipelines)]


async def kept(connection: Connection, pipelines: Sequence[str]) -> list[str]:
    return [row["pipeline"] for row in await connection.fetch(_sql.kept, pipelines)]
