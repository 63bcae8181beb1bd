"""Which rows brokers were told of. One function per query of ``sql/relay.sql``."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from penstock.storage.queries import load
from penstock.storage.queue import LaneClaim

_sql = load("relay")
Connection = Any


class Unsent(NamedTuple):
    """A due row that no broker knows of."""

    task_id: int
    lease: int | None
    stage: int
    lane: int
    run_at: datetime
    attempt: int
    max_attempts: int
    trace: str | None


class Backlog(NamedTuple):
    stage: int
    sent: int
    oldest: datetime


async def unsent(connection: Connection, wanted: Sequence[LaneClaim], room: int) -> list[Unsent]:
    rows = await connection.fetch(
        _sql.unsent,
        [one.stage for one in wanted],
        [one.lane for one in wanted],
        [one.quota for one in wanted],
        [one.after[0] for one in wanted],
        [one.after[1] for one in wanted],
        room,
    )
    return [Unsent(*row) for row in rows]


async def mark_sent(connection: Connection, rows: Sequence[Unsent]) -> None:
    await connection.execute(_sql.mark_sent, [row.task_id for row in rows], [row.lease for row in rows])


async def waiting(connection: Connection, task_ids: Sequence[int]) -> set[int]:
    return {row["task_id"] for row in await connection.fetch(_sql.waiting, task_ids)}


async def unsend(connection: Connection, task_ids: Sequence[int]) -> None:
    await connection.execute(_sql.unsend, task_ids)


async def resend_old(connection: Connection, *, older_than_seconds: float, batch: int) -> int:
    return len(await connection.fetch(_sql.resend_old, older_than_seconds, batch))


async def resend_stage(connection: Connection, stage: int, *, batch: int) -> int:
    return len(await connection.fetch(_sql.resend_stage, stage, batch))


async def hold(connection: Connection, transport: str, holder: UUID, seconds: float) -> bool:
    """Whether this one is the relay of that broker, for so long."""
    return bool(await connection.fetchval(_sql.hold, transport, holder, seconds))


async def let_go(connection: Connection, transport: str, holder: UUID) -> None:
    await connection.execute(_sql.let_go, transport, holder)


async def held(connection: Connection, transport: str) -> bool:
    return bool(await connection.fetchval(_sql.held, transport))


async def installation(connection: Connection) -> UUID:
    found: UUID = await connection.fetchval(_sql.installation)
    return found


async def backlog(connection: Connection) -> list[Backlog]:
    return [Backlog(*row) for row in await connection.fetch(_sql.backlog)]
