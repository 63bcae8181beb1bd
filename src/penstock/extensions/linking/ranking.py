"""Ranks a project again: weights or thresholds changed, and what is needed is in the cache."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.extensions.linking import projects, records
from penstock.extensions.linking.batching import RECORDS_PER_TASK
from penstock.extensions.linking.names import SCORE
from penstock.extensions.linking.project import Options, asked_types, types_key
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.shared import RecordLinking
from penstock.insight.record import WIRE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """`jobId` null: there is no record to rank again. `left`: records that stay as they are, since the cache holds no
    answer to what is asked for them now; `notice` says what to do about them."""

    __pydantic_config__ = WIRE

    job_id: int | None
    records: int
    left: int
    notice: str | None


async def rerank(
    linking: RecordLinking, project_id: int, by: str, options: Mapping[str, Any] | None = None
) -> Reranked:
    """``options``: weights, accept_score, accept_gap to change first, with the same transaction. What people decided
    stays; a run that is under way goes on and uses the new ones from here on."""
    async with linking.app.connection() as connection, connection.transaction():
        project = await projects.require_for_update(connection, project_id)
        whole = Options.of({**project.options, **(options or {})}, linking.app.settings)
        Weights.from_options(whole.weights)
        if options:
            await projects.change(connection, project_id, options={**project.options, **options})
        key = types_key(asked_types(project, whole))
        left = await records.unanswered(connection, project_id, types=key)
        ids: list[int] = []
        last = 0
        while page := await records.to_rescore(connection, project_id, types=key, after=last, limit=20_000):
            ids += page
            last = page[-1]
        if not ids:
            return Reranked(job_id=None, records=0, left=left, notice=_notice(project_id, left))
        job = await linking.task(SCORE, owner=project.owner).enqueue_many(
            [
                {"project": project_id, "run": None, "records": ids[at : at + RECORDS_PER_TASK]}
                for at in range(0, len(ids), RECORDS_PER_TASK)
            ],
            name=f"Rank {project.name} again",
            metadata={"project": project_id, "rerank": True},
            connection=connection,
        )
        await projects.remember_job(connection, project_id, job.id, current=False)
    linking.app.events.emit("linking.reranked", project=project_id, records=len(ids), job=job.id, by=by)
    return Reranked(job_id=job.id, records=len(ids), left=left, notice=_notice(project_id, left))


def _notice(project_id: int, left: int) -> str | None:
    if not left:
        return None
    several = "1 record stays as it is" if left == 1 else f"{left:,} records stay as they are"
    return (
        f"{several}: the source was asked with other types, or so long ago that the answer is forgotten."
        f" `penstock link match {project_id} --scope all` asks again."
    )
