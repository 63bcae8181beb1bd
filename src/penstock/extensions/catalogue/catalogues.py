"""Catalogues as people look at them. One function per query of ``sql/catalogues.sql``; none counts all of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("catalogues", "penstock.extensions.catalogue")
Connection = Any
_WINDOW = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCatalogue:
    id: int
    name: str | None
    owner: str | None
    created_at: datetime
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAnswers:
    """Among the newest questions. `unanswered`: it failed, see `lastError`. `milliseconds`: the mean."""

    __pydantic_config__ = WIRE

    provider: str
    asked: int
    hits: int
    misses: int
    unanswered: int
    milliseconds: float
    cost: float
    last_at: datetime
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """`hit` null: no answer, see `error`."""

    __pydantic_config__ = WIRE

    at: datetime
    attempt: int
    provider: str
    query: str
    hit: bool | None
    milliseconds: float
    cost: float
    error: str | None


async def page(
    connection: Connection, *, owner: str | None, before: int | None, pipeline: str, limit: int
) -> tuple[list[StoredCatalogue], int | None]:
    """Newest first, and behind which job the next page starts."""
    window = max(_WINDOW, limit + 1)
    rows = await connection.fetch(_sql.page, owner, before, pipeline, window)
    wanted = [_stored(row) for row in rows if row["wanted"]]
    if len(wanted) > limit:
        return wanted[:limit], wanted[limit - 1].id
    return wanted, rows[-1]["id"] if len(rows) == window else None


async def job(connection: Connection, job_id: int, pipeline: str) -> StoredCatalogue | None:
    row = await connection.fetchrow(_sql.job, job_id, pipeline)
    return None if row is None else _stored(row)


async def by_provider(connection: Connection, job_ids: Sequence[int], most: int) -> dict[int, list[ProviderAnswers]]:
    """Job → what its providers said to its newest ``most`` questions."""
    found: dict[int, list[ProviderAnswers]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(_sql.by_provider, list(job_ids), most):
        found[row["job_id"]].append(_answers(row))
    return found


async def lately(connection: Connection, most: int) -> dict[str, ProviderAnswers]:
    return {row["provider"]: _answers(row) for row in await connection.fetch(_sql.lately, most)}


async def of_task(connection: Connection, task_id: int, most: int) -> list[AskedQuestion]:
    return [AskedQuestion(**row) for row in await connection.fetch(_sql.of_task, task_id, most)]


async def products_estimate(connection: Connection) -> int | None:
    """None: nobody knows yet."""
    found: int = await connection.fetchval(_sql.products_estimate)
    return found if found >= 0 else None


def _stored(row: Mapping[str, Any]) -> StoredCatalogue:
    return StoredCatalogue(
        id=row["id"],
        name=row["name"],
        owner=row["owner"],
        created_at=row["created_at"],
        metadata=orjson.loads(row["metadata"]),
    )


def _answers(row: Mapping[str, Any]) -> ProviderAnswers:
    return ProviderAnswers(**{name: row[name] for name in ProviderAnswers.__dataclass_fields__})
