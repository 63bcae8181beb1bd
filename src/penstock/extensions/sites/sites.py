"""Sites as pages show them, beside what the engine knows. One function per query of ``sql/sites.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock.extensions.sites.findings import Share, SiteScores
from penstock.storage.queries import load

_sql = load("sites", "penstock.extensions.sites")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """``name``, ``scores`` and ``improvements`` of the last successful run."""

    name: str | None
    scores: SiteScores | None
    improvements: tuple[str, ...]
    approved_at: datetime | None
    edited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnalysis:
    """The job as it was submitted."""

    id: int
    name: str | None
    owner: str | None
    created_at: datetime
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesSeen:
    """``looked_to``: the last job that was looked at; None: there are no more."""

    jobs: tuple[StoredAnalysis, ...]
    looked_to: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """``reused_from``: the run that computed it, where this one did not have to."""

    stage: str
    run: int
    version: str | None
    reused_from: int | None
    at: datetime
    result: Any


async def more(connection: Connection, task_ids: Sequence[int]) -> dict[int, Summary]:
    rows = await connection.fetch(_sql.more, task_ids)
    return {
        row["task_id"]: Summary(
            name=row["name"],
            scores=_scores(row),
            improvements=() if row["improvements"] is None else tuple(orjson.loads(row["improvements"])),
            approved_at=row["approved_at"],
            edited=row["edited"],
        )
        for row in rows
    }


def _scores(row: Any) -> SiteScores | None:
    if row["coverage"] is None or row["visibility"] is None:
        return None
    coverage, visibility = (Share(**orjson.loads(row[name])) for name in ("coverage", "visibility"))
    return SiteScores(
        coverage=coverage, visibility=visibility, unsupported=row["unsupported"] or 0, cost=row["cost"] or 0.0
    )


async def analyses(
    connection: Connection, *, owner: str | None, before: int | None, pipeline: str, limit: int, window: int
) -> SitesSeen:
    rows = await connection.fetch(_sql.analyses, owner, before, pipeline, window)
    wanted = [_stored(row) for row in rows if row["wanted"]]
    if len(wanted) > limit:
        return SitesSeen(jobs=tuple(wanted[:limit]), looked_to=wanted[limit - 1].id)
    return SitesSeen(jobs=tuple(wanted), looked_to=rows[-1]["id"] if len(rows) == window else None)


def _stored(row: Any) -> StoredAnalysis:
    return StoredAnalysis(
        id=row["id"],
        name=row["name"],
        owner=row["owner"],
        created_at=row["created_at"],
        metadata=orjson.loads(row["metadata"]),
    )


async def waiting_for_approval(
    connection: Connection, job_id: int, stage: str, *, after: int = 0, limit: int
) -> list[int]:
    rows = await connection.fetch(_sql.waiting_for_approval, job_id, stage, after, limit)
    return [row["task_id"] for row in rows]


async def prompts_of(connection: Connection, site_ids: Sequence[int], forming: str) -> tuple[int, int]:
    """(how many, how many bytes) of all of them."""
    row = await connection.fetchrow(_sql.prompts_of, site_ids, forming)
    return row["prompts"], row["bytes"]


async def waiting_at(connection: Connection, site_ids: Sequence[int], stage: str) -> set[int]:
    return {row["task_id"] for row in await connection.fetch(_sql.waiting_at, site_ids, stage)}


async def ended(
    connection: Connection, job_id: int, statuses: Sequence[int], *, after: int = 0, limit: int
) -> list[int]:
    rows = await connection.fetch(_sql.ended, job_id, statuses, after, limit)
    return [row["task_id"] for row in rows]


async def stages(connection: Connection, task_id: int) -> dict[str, StageResult]:
    rows = await connection.fetch(_sql.stages, task_id)
    return {
        row["stage"]: StageResult(
            **{**row, "result": None if row["result"] is None else orjson.loads(row["result"])},
        )
        for row in rows
    }


async def steps(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """Per analysis, as ``penstock.insight.job_steps`` takes them."""
    found: dict[int, list[dict[str, Any]]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(_sql.steps, job_ids):
        found[row["job_id"]].append(dict(row))
    return found
