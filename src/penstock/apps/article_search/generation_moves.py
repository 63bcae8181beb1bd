"""What happens to generations. One function per query of ``sql/generation_moves.sql``."""

from datetime import datetime
from typing import Any

import orjson

from penstock.apps.article_search.build_notes import Failure
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.names import PIPELINE
from penstock.storage.queries import load

_sql = load("generation_moves", "penstock.apps.article_search")
Connection = Any

_LONG_SECONDS = 300.0


async def lock_all(connection: Connection) -> None:
    await connection.fetch(_sql.lock_all)


async def follow_job(connection: Connection, generation_id: int, job_id: int) -> None:
    await connection.execute(_sql.follow_job, generation_id, job_id)


async def note(connection: Connection, generation_id: int, text: str | None) -> None:
    await connection.execute(_sql.note, generation_id, text)


async def ready(connection: Connection, generation_id: int, text: str | None) -> bool:
    return await connection.fetchval(_sql.ready, generation_id, text) is not None


async def stand_by(connection: Connection) -> None:
    await connection.execute(_sql.stand_by)


async def activate(connection: Connection, generation_id: int) -> bool:
    return await connection.fetchval(_sql.activate, generation_id) is not None


async def leave(connection: Connection) -> None:
    await connection.execute(_sql.leave)


async def reactivate(connection: Connection, generation_id: int) -> bool:
    return await connection.fetchval(_sql.reactivate, generation_id) is not None


async def active_before(connection: Connection) -> int | None:
    found: int | None = await connection.fetchval(_sql.active_before)
    return found


async def mark_dropped(connection: Connection, generation_id: int) -> bool:
    return await connection.fetchval(_sql.mark_dropped, generation_id) is not None


async def drop_vectors(connection: Connection, generation: Generation) -> None:
    await connection.execute(generation.query(_sql.drop_vectors))


async def forget_indexed(connection: Connection, generation_id: int, batch: int) -> int:
    """How many rows; fewer than the batch: none is left."""
    return int((await connection.execute(_sql.forget_indexed, generation_id, batch)).rpartition(" ")[2])


async def left_out(connection: Connection, generation_id: int, before: datetime | None) -> int:
    count: int = await connection.fetchval(_sql.left_out, generation_id, before, PIPELINE, timeout=_LONG_SECONDS)
    return count


async def any_indexed(connection: Connection, generation_id: int) -> bool:
    found: bool = await connection.fetchval(_sql.any_indexed, generation_id)
    return found


async def newest_failure(connection: Connection, generation_id: int) -> Failure | None:
    row = await connection.fetchrow(_sql.newest_failure, generation_id, PIPELINE, timeout=_LONG_SECONDS)
    if row is None:
        return None
    return Failure(error=orjson.loads(row["error"]), age_seconds=row["age_seconds"])


async def job_began(connection: Connection, job_id: int) -> datetime | None:
    at: datetime | None = await connection.fetchval(_sql.job_began, job_id)
    return at


async def next_transaction(connection: Connection) -> str:
    number: str = await connection.fetchval(_sql.next_transaction)
    return number


async def all_ended_before(connection: Connection, number: str) -> bool:
    ended: bool = await connection.fetchval(_sql.all_ended_before, number)
    return ended


async def hurry(connection: Connection, lock_timeout: str) -> None:
    await connection.execute(_sql.hurry, lock_timeout)
