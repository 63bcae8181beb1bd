"""Decisions of people in the database. One function per query of ``sql/decisions.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from penstock.extensions.linking.entity import Entity, from_json
from penstock.extensions.linking.record import Record, RecordState, StateName
from penstock.extensions.linking.records import SCORE_STEPS, RecordNotFound, record_of
from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("decisions", "penstock.extensions.linking")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a record becomes. ``decided`` False: it is the machine's again."""

    state: RecordState
    entity: str | None = None
    label: str | None = None
    score: float | None = None
    decided: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`batch`: one for everything that one call decided. `undoneAt` null: it still holds, or was overruled."""

    __pydantic_config__ = WIRE

    decision_id: int
    batch: UUID
    move: str
    from_state: StateName
    from_entity: str | None
    to_state: StateName
    to_entity: str | None
    by: str
    at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Scores from `fromScore` to `toScore`. `taken`: what the threshold takes of the `waiting`."""

    __pydantic_config__ = WIRE

    from_score: float
    to_score: float
    waiting: int
    taken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """`changedSince`: records that somebody changed after the decision; they are left."""

    __pydantic_config__ = WIRE

    undone: int
    changed_since: int


async def hold_record(connection: Connection, project_id: int, number: int) -> Record:
    row = await connection.fetchrow(_sql.hold_record, project_id, number)
    if row is None:
        raise RecordNotFound(project_id, number)
    return record_of(row)


async def decide(connection: Connection, record: Record, batch: UUID, move: str, target: Target, by: str) -> None:
    given = (int(target.state), target.entity, target.label, target.score, by, target.decided)
    await connection.execute(_sql.decide, record.project_id, record.id, batch, move, *given)


async def set_note(connection: Connection, project_id: int, number: int, note: str | None) -> bool:
    return await connection.fetchval(_sql.set_note, project_id, number, note) is not None


async def accept_above(
    connection: Connection, project_id: int, min_score: float, min_gap: float, *, batch: UUID, by: str
) -> int:
    count: int = await connection.fetchval(_sql.accept_above, project_id, min_score, min_gap, batch, by)
    return count


async def near(
    connection: Connection, project_id: int, min_score: float, min_gap: float, *, taken: bool, limit: int
) -> list[Record]:
    """What ``accept_above`` takes or leaves, those nearest to the threshold first."""
    query = _sql.above if taken else _sql.below
    return [record_of(row) for row in await connection.fetch(query, project_id, min_score, min_gap, limit)]


async def histogram(connection: Connection, project_id: int, min_score: float, min_gap: float) -> list[Step]:
    rows = await connection.fetch(_sql.histogram, project_id, min_score, min_gap)
    return [
        Step(from_score=step / SCORE_STEPS, to_score=(step + 1) / SCORE_STEPS, waiting=waiting, taken=taken)
        for step, waiting, taken in rows
    ]


async def undo(
    connection: Connection, project_id: int, *, batch: UUID | None, number: int | None, new_batch: UUID, by: str
) -> Undone:
    return Undone(**await connection.fetchrow(_sql.undo, project_id, batch, number, new_batch, by))


async def history(connection: Connection, record_id: int, *, before: int | None, limit: int) -> list[Decision]:
    return [_decision(row) for row in await connection.fetch(_sql.history, record_id, before, limit)]


async def last(connection: Connection, record_id: int) -> Decision | None:
    """The last one that was not undone."""
    row = await connection.fetchrow(_sql.last, record_id)
    return None if row is None else _decision(row)


async def cached_label(connection: Connection, source: str, entity: str) -> tuple[Entity | None, bool]:
    """What the cache says about an id, and whether the source says that there is no such thing."""
    row = await connection.fetchrow(_sql.cached_label, source, entity)
    if row is None:
        return None, False
    return None if row["data"] is None else from_json(orjson.loads(row["data"])), bool(row["missing"])


def _decision(row: Any) -> Decision:
    states = {name: RecordState(row[name]).name for name in ("from_state", "to_state")}
    return Decision(**{**row, **states})
