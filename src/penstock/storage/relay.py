"""Which rows brokers were told of. One function per query of ``sql/relay.sql``."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from penstock.storage.queries import Changed, Command, Connection, Records, Value, load
from penstock.storage.queue import LaneClaim, lane_columns

_sql = load("relay")


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
    return [Unsent(*row) for row in await connection.fetch(_sql.unsent, *lane_columns(wanted), room)]


async def mark_sent(connection: Connection, rows: Sequence[Unsent]) -> None:
    await connection.execute(_sql.mark_sent, [row.task_id for row in rows], [row.lease for row in rows])


async def waiting(connection: Connection, task_ids: Sequence[int]) -> set[int]:
    return {row["task_id"] for row in await connection.fetch(_sql.waiting, task_ids)}


unsend = Command[[Sequence[int]]](_sql.unsend)  # task_ids
# Whether this one is the relay of that broker, for so long.
hold = Changed[[str, UUID, float]](_sql.hold)  # transport, holder, seconds
let_go = Command[[str, UUID]](_sql.let_go)  # transport, holder
held = Value[[str], bool](_sql.held)  # transport
installation = Value[[], UUID](_sql.installation)
backlog = Records[[], Backlog](_sql.backlog, Backlog)


async def resend_old(connection: Connection, *, older_than_seconds: float, batch: int) -> int:
    return len(await connection.fetch(_sql.resend_old, older_than_seconds, batch))


async def resend_stage(connection: Connection, stage: int, *, batch: int) -> int:
    return len(await connection.fetch(_sql.resend_stage, stage, batch))
