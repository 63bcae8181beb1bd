"""Starts and stops the matching of a project's records, and ranks them again from the cache.

A start reads the records it may take, groups them by what the source is asked, and stores one task per group, all in
one transaction: a run is there as a whole or not at all. What the tasks do is in ``searching``, ``fetching`` and
``scoring_records``; ``watching`` looks after what dying processes leave behind.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import orjson

from penstock import IllegalMove
from penstock.control import jobs as job_steering
from penstock.errors import JobNotFound, UsageError
from penstock.extensions.linking import cache, projects, records, standing, watching
from penstock.extensions.linking.fetching import RECORDS_PER_TASK
from penstock.extensions.linking.project import Options, Project, Wanted, asked_types, query_of, types_key, wanted_of
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.records import Chosen, Queued
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.stages import SCORE, SEARCH, WATCH
from penstock.insight.record import WIRE

Scope = Literal["all", "new", "unmatched", "changed", "failed"]


"""``new``: never matched, or cancelled. ``unmatched``: without a candidate. ``changed``: what is asked of them is not
what it was. ``all``: everything. What a person decided is left by every scope."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
EMPTY_NAME = "the name is empty"

_BATCH = 5000
_DONE = (RecordState.REVIEW, RecordState.ACCEPTED, RecordState.REJECTED, RecordState.NO_CANDIDATE, RecordState.ERROR)
_STATES: dict[Scope, tuple[RecordState, ...]] = {
    "all": (RecordState.NEW, RecordState.CANCELLED, *_DONE),
    "new": (RecordState.NEW, RecordState.CANCELLED),
    "unmatched": (RecordState.NO_CANDIDATE,),
    "changed": _DONE,
    "failed": (RecordState.ERROR,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """``job_id`` None: no record has to be asked for. ``queries``: distinct names; cached ones need no request."""

    job_id: int | None
    records: int
    queries: int


async def start(linking: RecordLinking, project_id: int, scope: Scope, by: str) -> Started:
    """Nothing is queued where the source cannot be asked, or a run is under way."""
    if scope not in SCOPES:
        raise UsageError(f"The scope {str(scope)[:50]!r} is not known. Use one of {', '.join(SCOPES)}.")
    async with linking.app.connection() as connection:
        project = await projects.require(connection, project_id)
    await linking.sources.prepare(project.source)
    await watching.settle(linking, project_id)
    async with linking.app.connection() as connection, connection.transaction():
        project = await projects.require(connection, project_id, for_update=True)
        if project.running:
            raise IllegalMove(
                move="match",
                subject=f"project {project_id}",
                state="MATCHING",
                allowed_from=("NEW", "DONE", "CANCELLED"),
                next_step=f"Wait until its run has ended, or cancel it: `penstock link cancel {project_id}`.",
            )
        started = await _start(linking, connection, project, scope)
    linking.app.events.emit("linking.started", project=project_id, scope=scope, by=by, **asdict(started))
    return started


async def hasten(linking: RecordLinking, project_id: int, by: str) -> int:
    """The source is back: what failed and waits for its next try may be tried now. Returns how many requests."""
    async with linking.app.connection() as connection:
        project = await projects.require(connection, project_id)
        if not project.running or project.job_id is None:
            return 0
        waiting = await standing.retrying(connection, project.job_id)
    await job_steering.hasten(linking.app, project.job_id, by=by)
    return waiting.count


async def cancel(linking: RecordLinking, project_id: int, by: str) -> int:
    """Records that have not ended become CANCELLED; returns how many. Without a run there is nothing to do."""
    async with linking.app.connection() as connection, connection.transaction():
        project = await projects.require(connection, project_id, for_update=True)
        if not await projects.cancel_run(connection, project_id):
            return 0
        count = await records.cancel_left(connection, project_id)
    if project.job_id is not None:
        with suppress(IllegalMove, JobNotFound, UsageError):
            await job_steering.cancel(linking.app, project.job_id, by=by)
    async with linking.app.connection() as connection:
        await cache.free_lost(connection, project.source)
    linking.app.events.emit("linking.cancelled", project=project_id, records=count, by=by)
    return count


async def _start(linking: RecordLinking, connection: Any, project: Project, scope: Scope) -> Started:
    options = linking.options_of(project)
    types = asked_types(project, options)
    run = await projects.begin_run(connection, project.id, types_key=types_key(types))
    groups: dict[tuple[str, str], None] = {}
    count = last = 0
    states = _STATES[scope]
    while page := await records.chosen(connection, project.id, states=states, after=last, limit=_BATCH):
        last = page[-1].number
        queued, nameless = _sorted(project, options, page, changed_only=scope == "changed")
        await records.queue(connection, project.id, run, queued)
        await records.without_name(connection, project.id, run, nameless, EMPTY_NAME)
        await records.drop_candidates(connection, list(nameless))
        groups.update(dict.fromkeys((one.language, one.query) for one in queued))
        count += len(queued) + len(nameless)
    job_id = await _store(linking, connection, project, run, groups, types, scope) if groups else None
    if job_id is None:
        await projects.end_run(connection, project.id, run)
    return Started(job_id=job_id, records=count, queries=len(groups))


def _sorted(
    project: Project, options: Options, page: Sequence[Chosen], *, changed_only: bool
) -> tuple[list[Queued], dict[int, bytes]]:
    """Those that are asked for, and the digests of those whose name is empty."""
    types = asked_types(project, options)
    queued: list[Queued] = []
    nameless: dict[int, bytes] = {}
    for one in page:
        wanted = wanted_of(project, options, one.cells)
        digest = digest_of(wanted, types)
        if changed_only and (one.digest is None or one.digest == digest):
            continue
        query = query_of(wanted)
        if query is None:
            nameless[one.id] = digest
        else:
            queued.append(Queued(id=one.id, query=query, language=wanted.languages[0], digest=digest))
    return queued, nameless


async def _store(
    linking: RecordLinking,
    connection: Any,
    project: Project,
    run: int,
    groups: Iterable[tuple[str, str]],
    types: tuple[str, ...],
    scope: Scope,
) -> int:
    """Each question is whole: what changes of the project while they wait does not change what is asked."""
    common = {"project": project.id, "run": run, **({"types": list(types)} if types else {})}
    job = await linking.task(SEARCH, owner=project.owner).enqueue_many(
        ({**common, "language": language, "query": query} for language, query in groups),
        name=f"Match {project.name}",
        metadata={"project": project.id, "run": run, "scope": scope},
        connection=connection,
    )
    await projects.remember_job(connection, project.id, job.id, current=True)
    watch = linking.task(WATCH, job=job.id, owner=project.owner, delay=2.0)
    await watch.enqueue_on(connection, project=project.id, run=run)
    return job.id


def digest_of(wanted: Wanted, types: tuple[str, ...]) -> bytes:
    """Of everything that is asked and matched: a record whose digest differs has changed since. ``types``: what the
    source is asked for, which a record that names its own is not compared with."""
    whole = {**asdict(wanted), **({"asked_types": types} if types else {})}
    return hashlib.sha256(orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)).digest()


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
        project = await projects.require(connection, project_id, for_update=True)
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
