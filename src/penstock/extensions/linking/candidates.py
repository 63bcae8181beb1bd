"""Candidates in the database. One function per query of ``sql/candidates.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from penstock.extensions.linking.scoring.score import Part, Scored
from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("candidates", "penstock.extensions.linking")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """``parts``: the steps of the waterfall."""

    __pydantic_config__ = WIRE

    rank: int
    entity: str
    label: str
    description: str | None
    score: float
    parts: tuple[Part, ...]


async def of_record(connection: Connection, record_id: int) -> list[Candidate]:
    return [_candidate(row) for row in await connection.fetch(_sql.of_record, record_id)]


async def of_records(
    connection: Connection, record_ids: Sequence[int], *, most: int = 50
) -> dict[int, list[Candidate]]:
    """The first ``most`` of each."""
    found: dict[int, list[Candidate]] = {one: [] for one in record_ids}
    for row in await connection.fetch(_sql.of_records, record_ids, most):
        found[row["record_id"]].append(_candidate(row))
    return found


async def replace(connection: Connection, given: Mapping[int, Sequence[Scored]]) -> None:
    """Record → its candidates, best first; none: those it had go."""
    flat = [(record_id, rank, one) for record_id, several in given.items() for rank, one in enumerate(several, start=1)]
    await connection.execute(
        _sql.replace,
        list(given),
        [record_id for record_id, _, _ in flat],
        [rank for _, rank, _ in flat],
        [one.entity for *_, one in flat],
        [one.label for *_, one in flat],
        [one.description for *_, one in flat],
        [one.score for *_, one in flat],
        [orjson.dumps(one.parts).decode() for *_, one in flat],
    )


def _candidate(row: Any) -> Candidate:
    fields = {name: row[name] for name in ("rank", "entity", "label", "description", "score")}
    return Candidate(**fields, parts=tuple(Part(**part) for part in orjson.loads(row["parts"])))
