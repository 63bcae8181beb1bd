"""Decisions of people in the database. One function per query of ``sql/decisions.sql``."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from penstock.apps.record_linking.entity import Entity
from penstock.apps.record_linking.entity_json import from_json
from penstock.apps.record_linking.record import Record
from penstock.apps.record_linking.states import RecordState
from penstock.storage.queries import load

_sql = load("decisions", "penstock.apps.record_linking")
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
    """``batch``: one for everything that one call decided. ``undone_at`` None: it still holds, or was overruled."""

    id: int
    batch: UUID
    move: str
    from_state: RecordState
    from_entity: str | None
    to_state: RecordState
    to_entity: str | None
    by: str
    at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A twentieth of the scores, from ``step / 20`` on. ``taken``: what the threshold would accept of those waiting."""

    step: int
    waiting: int
    taken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """``meant``: decisions that the call was about; fewer were undone where somebody changed a record since."""

    meant: int
    undone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the cache says about an id. ``entity`` None and ``missing``: the source says that there is none."""

    id: str
    entity: Entity | None
    missing: bool


async def hold_record(connection: Connection, project_id: int, number: int) -> Record | None:
    row = await connection.fetchrow(_sql.hold_record, project_id, number)
    return None if row is None else _record(row)


async def decide(connection: Connection, record: Record, batch: UUID, move: str, target: Target, by: str) -> None:
    given = (int(target.state), target.entity, target.label, target.score, by, target.decided)
    await connection.execute(_sql.decide, record.project_id, record.id, batch, move, *given)


async def set_note(connection: Connection, project_id: int, number: int, note: str | None) -> bool:
    return await connection.fetchval(_sql.set_note, project_id, number, note) is not None


async def accept_above(
    connection: Connection, project_id: int, *, min_score: float, min_gap: float, batch: UUID, by: str
) -> int:
    count: int = await connection.fetchval(_sql.accept_above, project_id, min_score, min_gap, batch, by)
    return count


async def above(
    connection: Connection, project_id: int, *, min_score: float, min_gap: float, limit: int
) -> list[Record]:
    return [_record(row) for row in await connection.fetch(_sql.above, project_id, min_score, min_gap, limit)]


async def below(
    connection: Connection, project_id: int, *, min_score: float, min_gap: float, limit: int
) -> list[Record]:
    return [_record(row) for row in await connection.fetch(_sql.below, project_id, min_score, min_gap, limit)]


async def histogram(connection: Connection, project_id: int, *, min_score: float, min_gap: float) -> list[Step]:
    return [Step(**row) for row in await connection.fetch(_sql.histogram, project_id, min_score, min_gap)]


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


async def cached_label(connection: Connection, source: str, entity: str) -> Known | None:
    """None: nobody has fetched it."""
    row = await connection.fetchrow(_sql.cached_label, source, entity)
    if row is None:
        return None
    data = None if row["data"] is None else from_json(orjson.loads(row["data"]))
    return Known(id=row["id"], entity=data, missing=bool(row["missing"]))


def _decision(row: Any) -> Decision:
    return Decision(**{**row, "from_state": RecordState(row["from_state"]), "to_state": RecordState(row["to_state"])})


def _record(row: Any) -> Record:
    return Record(**{**row, "cells": orjson.loads(row["cells"]), "state": RecordState(row["state"])})
