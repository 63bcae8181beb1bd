"""The hot path: one function per query of ``sql/queue.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from penstock.lifecycle import State
from penstock.model import Advance, Claimed, Finish, Release
from penstock.storage.queries import Column, Counted, Pairs, load

_sql = load("queue")

# Before every real position, so that a claim starts at the front of its lane.
FRONT = (datetime.fromisoformat("1970-01-01T00:00:00+00:00"), 0)

Connection = Any  # asyncpg.Connection or a pool's proxy of it; the stubs do not relate them


@dataclass(slots=True, eq=False)
class LaneClaim:
    """One (stage, lane) pair of a claim: how many, and behind which position to start."""

    stage: int
    lane: int
    quota: int
    after: tuple[datetime, int] = FRONT


def lane_columns(wanted: Sequence[LaneClaim]) -> tuple[list[Any], ...]:
    """As the first five parameters of the statements that look into lanes."""
    return (
        [one.stage for one in wanted],
        [one.lane for one in wanted],
        [one.quota for one in wanted],
        [one.after[0] for one in wanted],
        [one.after[1] for one in wanted],
    )


async def claim(connection: Connection, wanted: Sequence[LaneClaim], limit: int, worker: int) -> list[Claimed]:
    rows = await connection.fetch(_sql.claim, *lane_columns(wanted), limit, worker)
    return [Claimed(row) for row in rows]


async def claim_by_id(
    connection: Connection,
    task_ids: Sequence[int],
    worker: int,
    *,
    stages: Sequence[int] | None = None,
    least_age_seconds: float = 0.0,
    unlimited: bool = False,
) -> list[Claimed]:
    """``stages``, ``least_age_seconds``: what a row that was looked up before still has to fulfil. ``unlimited``: only
    what has no fleet-wide limit."""
    rows = await connection.fetch(_sql.claim_by_id, task_ids, worker, stages, least_age_seconds, unlimited)
    return [Claimed(row) for row in rows]


async def ripe(connection: Connection, wanted: Sequence[LaneClaim], room: int, least_age_seconds: float) -> list[int]:
    """Tasks in the order they should be claimed, at most ``room``."""
    rows = await connection.fetch(_sql.ripe, *lane_columns(wanted), room, least_age_seconds)
    return [row["task_id"] for row in rows]


async def lock_limited_stages(connection: Connection, stages: Sequence[int]) -> dict[int, int]:
    rows = await connection.fetch(_sql.lock_limited_stages, stages)
    return {row["id"]: row["max_running"] for row in rows}


async def lock_limited_lanes(connection: Connection, lanes: Sequence[int]) -> dict[int, tuple[int, int | None]]:
    """lane → (the lane that stands for all of its key or job, limit), with those of the same key or job."""
    rows = await connection.fetch(_sql.lock_limited_lanes, lanes)
    return {row["id"]: (row["leader"], row["max_running"]) for row in rows}


async def count_leased(connection: Connection, stages: Sequence[int]) -> dict[tuple[int, int], int]:
    rows = await connection.fetch(_sql.count_leased, stages)
    return {(row["stage"], row["lane"]): row["leased"] for row in rows}


async def finish(connection: Connection, worker: int, ended: Sequence[Finish]) -> int:
    """Returns how many leases were current; fewer than given means that some are stale.

    A column that is the same for all (every task DONE, no error) is left out; the statement fills it in. Encoding an
    array is what a settle costs the client.
    """
    results = [e.result for e in ended]
    versions = [e.version for e in ended]
    plain = all(e.status is State.DONE and e.error is None for e in ended)
    count: int = await connection.fetchval(
        _sql.finish,
        [e.task_id for e in ended],
        [e.lease for e in ended],
        None if plain else [e.status for e in ended],
        results if any(results) else None,
        None if plain else [e.error for e in ended],
        worker,
        versions if any(versions) else None,
    )
    return count


async def settled_before(connection: Connection, ended: Sequence[Finish]) -> set[int]:
    rows = await connection.fetch(_sql.settled_before, [e.task_id for e in ended], [e.lease for e in ended])
    return {row["task_id"] for row in rows}


async def advance(connection: Connection, worker: int, moved: Sequence[Advance]) -> dict[int, bool]:
    """Returns the tasks whose lease was current, and whether they ended because somebody had cancelled them."""
    rows = await connection.fetch(
        _sql.advance,
        [a.task_id for a in moved],
        [a.lease for a in moved],
        [a.stage for a in moved],
        [a.next_stage for a in moved],
        [a.result for a in moved],
        [a.version for a in moved],
        worker,
        [a.reused_from for a in moved],
        [a.hashed for a in moved],
    )
    return {row["task_id"]: row["cancelled"] for row in rows}


async def release(
    connection: Connection, worker: int, given_back: Sequence[Release], *, crash_limit: int, rescue_limit: int
) -> dict[int, int]:
    """Returns the tasks whose lease was current, with the state they ended in (0: waiting again)."""
    rows = await connection.fetch(
        _sql.release,
        [r.task_id for r in given_back],
        [r.lease for r in given_back],
        [None if r.delay_seconds is None else int(r.delay_seconds * 1000) for r in given_back],
        [r.burned for r in given_back],
        [r.crashed for r in given_back],
        [r.rescued for r in given_back],
        [r.cause for r in given_back],
        [r.error for r in given_back],
        worker,
        crash_limit,
        rescue_limit,
    )
    return {row["task_id"]: row["ending"] for row in rows}


async def cancel(connection: Connection, task_id: int, by: str) -> tuple[bool, bool]:
    """(ended at once, asked to stop); both False where the task has no queue row."""
    row = await connection.fetchrow(_sql.cancel, task_id, by)
    return bool(row["ended"]), bool(row["asked"])


hasten = Counted[[int, Sequence[int] | None, int]](_sql.hasten)  # job_id, task_ids, batch
# Those that start now, with their jobs.
hasten_chosen = Pairs[[Sequence[int]], int, int | None](_sql.hasten_chosen)  # task_ids
leased_in_job = Column[[int], int](_sql.leased_in_job)
holders_gone = Column[[], int](_sql.holders_gone)


async def cancel_chosen(
    connection: Connection, task_ids: Sequence[int], *, by: str, stored_until: datetime, running: bool
) -> dict[int, int | None]:
    """Those that ended or were asked to stop, with their jobs."""
    return dict(await connection.fetch(_sql.cancel_chosen, task_ids, by, stored_until, running))


async def note_hasten(connection: Connection, task_ids: Sequence[int]) -> None:
    """Those of them that run now are called again at once if they end with a snooze. Call it before ``hasten``: what
    is being released meanwhile waits when this returns. Not in a transaction: it waits for rows that are being settled,
    one by one, and must not hold others."""
    for row in await connection.fetch(_sql.note_hasten, task_ids):
        await connection.execute(_sql.note_hasten_of_one, row["task_id"])


async def sweep_cancelled(connection: Connection, batch: int, job_id: int | None = None) -> int:
    """Of all lanes, or of those of one job."""
    return int(await connection.fetchval(_sql.sweep_cancelled, batch, job_id))


async def asked_to_stop(connection: Connection, workers: Sequence[int]) -> list[tuple[int, int, int]]:
    """(task, lease, worker) of leases that somebody cancelled."""
    rows = await connection.fetch(_sql.asked_to_stop, workers)
    return [(row["task_id"], row["lease"], row["worker"]) for row in rows]


async def asked_to_wait(connection: Connection, workers: Sequence[int]) -> list[tuple[int, int, int]]:
    """(task, lease, worker) of leases in stages and lanes that are paused."""
    rows = await connection.fetch(_sql.asked_to_wait, workers)
    return [(row["task_id"], row["lease"], row["worker"]) for row in rows]


class Lease(NamedTuple):
    """One row that a worker holds. ``ran``: its last heartbeat named this lease as running, or it noted that it began.
    ``waited``: it certainly had not begun."""

    task_id: int
    lease: int
    stage: int
    ran: bool
    waited: bool = False


async def leases_of(connection: Connection, worker: int, limit: int = 1000) -> list[Lease]:
    return [Lease(*row) for row in await connection.fetch(_sql.leases_of, worker, limit)]


async def leases_to_rescue(connection: Connection, worker: int, limit: int = 1000) -> list[Lease]:
    """Needs a transaction, which holds the rows."""
    return [Lease(*row) for row in await connection.fetch(_sql.leases_to_rescue, worker, limit)]


async def begin(connection: Connection, task_id: int, lease: int, worker: int) -> bool:
    """Whether the lease is current."""
    said: str = await connection.execute(_sql.begin, task_id, lease, worker)
    return said == "UPDATE 1"
