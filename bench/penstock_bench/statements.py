"""What the benches ask of a database of their own. One function per query of ``sql/bench.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from penstock.storage.queries import load

_sql = load("bench", "penstock_bench")
Connection = Any

# The bench's own looks and fillings; they are no part of what a task costs.
_OWN = ("%last_value%", "%coalesce(sum(n), %", "%with placed as%", "%vacuum (analyze)%", "%checkpoint%", "%pg_stat_%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement as the server saw it."""

    query: str
    calls: int
    milliseconds: float


async def create_database(connection: Connection, name: str) -> None:
    await connection.execute(await connection.fetchval(_sql.create_statement, name))


async def drop_database(connection: Connection, name: str) -> None:
    await connection.execute(await connection.fetchval(_sql.drop_statement, name))


async def settle_down(connection: Connection) -> None:
    """Vacuum, analyze, checkpoint. Somebody else's server may refuse the last to us; then it is left out."""
    await connection.execute(_sql.settle_down, timeout=3600)
    try:
        await connection.execute(_sql.checkpoint, timeout=600)
    except asyncpg.InsufficientPrivilegeError:
        return


async def claimed(connection: Connection) -> int:
    number: int = await connection.fetchval(_sql.claimed)
    return number


async def claiming_seconds(connection: Connection) -> float:
    age: float = await connection.fetchval(_sql.claiming_seconds)
    return age


async def backends(connection: Connection) -> list[int]:
    return [row["pid"] for row in await connection.fetch(_sql.backends)]


async def finished(connection: Connection, stage: int) -> int:
    number: int = await connection.fetchval(_sql.finished, stage)
    return number


async def wal_bytes(connection: Connection) -> int:
    number: int = await connection.fetchval(_sql.wal_bytes)
    return number


async def watch_statements(connection: Connection) -> bool:
    """Whether the server counts statements; one that was not started for it cannot."""
    try:
        await connection.execute(_sql.watch_statements)
        await connection.execute(_sql.forget_statements)
    except asyncpg.PostgresError:
        return False
    return True


async def forget_statements(connection: Connection) -> None:
    await connection.execute(_sql.forget_statements)


async def statements(connection: Connection) -> list[Statement]:
    return [Statement(**dict(row)) for row in await connection.fetch(_sql.statements, _OWN)]


async def stage(connection: Connection, pipeline: str) -> int:
    number: int = await connection.fetchval(_sql.stage, pipeline)
    return number


async def open_lanes(connection: Connection, pipeline: str, count: int) -> list[int]:
    return [row[0] for row in await connection.fetch(_sql.open_lanes, pipeline, count)]


async def fill(connection: Connection, stage: int, text: str, count: int, lanes: Sequence[int]) -> None:
    await connection.execute(_sql.fill, stage, text, count, lanes, timeout=3600)


async def hold_snapshot(connection: Connection) -> None:
    await connection.fetchval(_sql.hold_snapshot)


async def machine(connection: Connection) -> dict[str, str]:
    return dict(await connection.fetchrow(_sql.machine))


async def flat_table(connection: Connection) -> None:
    """An empty one."""
    await connection.execute(_sql.flat_table)
    await connection.execute(_sql.empty_flat_table)


async def empty_tables(connection: Connection) -> None:
    await connection.execute(_sql.empty_tables)


async def fill_job(
    connection: Connection, *, stage: int, job: int, owner: str, lane: int, first: int, count: int
) -> None:
    await connection.execute(_sql.fill_job, stage, job, owner, lane, first, count, timeout=3600)


async def fill_rows(connection: Connection, *, stage: int, job_id: int, lane: int, first: int, last: int) -> None:
    """Rows ``first`` to ``last`` of an export."""
    await connection.execute(_sql.fill_rows, stage, job_id, lane, first, last, timeout=600)


async def settle_articles(connection: Connection) -> None:
    await connection.execute(_sql.settle_articles, timeout=3600)


async def chunks(connection: Connection) -> int:
    number: int = await connection.fetchval(_sql.chunks)
    return number


async def set_embedder(connection: Connection, name: str) -> None:
    await connection.execute(_sql.set_embedder, name)
