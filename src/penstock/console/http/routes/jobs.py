"""`/api/jobs`: look at jobs, and decide about them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.ground import Ground, Here
from penstock.console.http.job_wire import Counts, JobBody, JobDetail, body_of, fields_of, file_of
from penstock.console.http.ownership import look_at_job, owner_of_job, whose
from penstock.console.http.parameters import COUNTED, LONGEST_NAME, STORABLE, After, Flag, Name, PageSize, Text, UserId
from penstock.console.http.problems import Problem, documented, not_found
from penstock.console.http.wire import MOST_ID, JobId, QueueState, Wire
from penstock.console.storage import files
from penstock.control import jobs as steering
from penstock.control import preferences
from penstock.control import tasks as task_steering
from penstock.core import job_counts
from penstock.insight import job_lists, job_views
from penstock.lifecycle import UNSUCCESSFUL, JobState, State
from penstock.storage import imports, items, jobs
from penstock.storage.dead_letters import DeadLetter
from penstock.storage.imports import Import

router = APIRouter(prefix="/api/jobs", tags=["jobs"], responses=documented(409, 429))
_MOST_ITEMS = 10_000
AgainName = Literal["PENDING", "DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"]


class JobPage(Wire):
    items: list[JobBody]
    next_cursor: str | None


class PauseBody(Wire):
    reason: Text | None = None


class ReprocessBody(Wire):
    """`scope: items` takes `itemIds`; `scope: job` takes everything in `statuses` (default: ERROR and NOT_FOUND). What
    is PENDING and waits for its next try starts now.

    `resetAttempts: false` keeps the attempts that each item has used. `scope: job` then leaves out items that ended
    ERROR or NOT_FOUND with all their attempts used.

    `fromStage`: run again from this stage on. Results of earlier stages are kept; later stages are computed again only
    where their input or their version is another one. An item that never got so far starts where it ended."""

    scope: Literal["job", "items"]
    item_ids: (
        Annotated[list[Annotated[int, Field(ge=1, le=MOST_ID), COUNTED]], Field(max_length=_MOST_ITEMS)] | None
    ) = None
    statuses: Annotated[list[AgainName], Field(min_length=1, max_length=6)] | None = None
    from_stage: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)] | None = None
    reset_attempts: Flag = True


class Reprocessed(Wire):
    started: int


class Moved(Wire):
    job_id: int
    queue_state: QueueState


class KickedOff(Wire):
    """What one slice came to. `more`: something is left; `nextDueAt`: call again then, null: now."""

    job_id: int
    processed: int
    took_ms: int
    ended_because: str
    more: bool
    next_due_at: datetime | None
    queue_state: QueueState
    counts: Counts
    lock_ms: int
    lock_reason: str


@router.get("", operation_id="listJobs")
async def list_jobs(
    ground: Here,
    actor: Viewer,
    page_size: PageSize = 50,
    after: After = None,
    user_id: UserId = "me",
    state: Annotated[QueueState | None, Query(description="Only those in this state.")] = None,
    pipeline: Annotated[Name | None, Query(description="Only those of this pipeline.")] = None,
    q: Annotated[Name | None, Query(description="Only those with this in the name of the job or its file.")] = None,
) -> JobPage:
    """Newest first. Counts come from counters that are kept, so the list is as quick for a job of ten million rows.
    Filters look at a bounded number of jobs: a page may be short, or empty, and still have a next one."""
    wanted = job_lists.JobFilter(owner=whose(actor, user_id), pipeline=pipeline, word=q or None)
    listed = ground.listing(actor.name, "jobs", user_id, state, pipeline, q)
    before = listed.behind(after)
    async with ground.app.connection() as connection:
        found = await job_lists.find(
            connection, wanted, state=None if state is None else JobState[state], before=before, limit=page_size
        )
        imported = await imports.get_many(connection, [job.id for job in found.jobs])
    if user_id == "all":
        await ground.note_look(actor.entry("jobs.look_at_all", kind="job"))
    bodies = [body_of(job, actor, imported.get(job.id), found.causes.get(job.id)) for job in found.jobs]
    return JobPage(items=bodies, next_cursor=listed.cursor(found.next_before))


@router.get("/{jobId}", operation_id="getJob")
async def get_job(ground: Here, actor: Viewer, job_id: JobId) -> JobDetail:
    """Everything about one job but its items."""
    await look_at_job(ground, actor, job_id)
    return await _detail(ground, actor, job_id)


async def _detail(ground: Ground, actor: Actor, job_id: int) -> JobDetail:
    async with ground.app.connection() as connection:
        details = await job_views.show(connection, job_id, errors=1)
        pulse = await items.pulse(connection, job_id)
        row = await jobs.get(connection, job_id) or {}
        found = details.file
        looked_at = [(row, details.job, found is not None and found.open)]
        causes = await job_lists.causes(connection, looked_at, details.job.read_at) if row else {}
        file = None if found is None else await files.get(connection, found.file_id)
        kept = await preferences.read(connection, ground.settings)
    failed = details.newest_errors
    paused = next((lane for lane in details.lanes if lane["paused_at"] is not None), None)
    return JobDetail.from_record(
        details.job,
        **fields_of(details.job, actor, found, causes.get(job_id)),
        current_step=details.steps.current,
        progress=details.steps.progress,
        steps=details.steps.steps,
        next_due_at=details.next_due_at,
        last_heartbeat=pulse,
        last_error=_last_error(failed, found),
        paused_by=None if paused is None else paused["paused_by"],
        pause_reason=None if paused is None else paused["pause_reason"],
        callback=details.callback,
        options=dict(details.job.metadata.get("options") or {}),
        file=file_of(file),
        priority=next((lane["priority"] for lane in details.lanes), None),
        cancelled_by=row.get("cancelled_by"),
        retention_days=kept["endedItemsDays"].value,
    )


def _last_error(failed: Sequence[DeadLetter], found: Import | None) -> str | None:
    """What stopped the import counts more than a row that failed."""
    if found is not None and found.state == "failed" and found.problem is not None:
        return str(found.problem.get("detail"))
    return str(failed[0].error.get("message")) if failed and failed[0].error else None


@router.post("/{jobId}/pause", operation_id="pauseJob")
async def pause_job(ground: Here, actor: Operator, job_id: JobId, body: PauseBody | None = None) -> Moved:
    """Nothing more of it is started; what runs goes on to its end. Rows of its file are still stored."""
    reason = body.reason if body is not None else None
    owner = await owner_of_job(ground, actor, job_id)
    await steering.pause(ground.app, job_id, by=actor.name, reason=reason)
    return await _moved(ground, actor, job_id, owner, "pause", reason=reason)


@router.post("/{jobId}/resume", operation_id="resumeJob")
async def resume_job(ground: Here, actor: Operator, job_id: JobId) -> Moved:
    owner = await owner_of_job(ground, actor, job_id)
    await steering.resume(ground.app, job_id, by=actor.name)
    return await _moved(ground, actor, job_id, owner, "resume")


@router.post("/{jobId}/cancel", operation_id="cancelJob")
async def cancel_job(ground: Here, actor: Operator, job_id: JobId) -> Moved:
    """Waiting items read as CANCELLED at once, running ones are asked to stop, and no further rows are stored."""
    owner = await owner_of_job(ground, actor, job_id)
    await steering.cancel(ground.app, job_id, by=actor.name)
    return await _moved(ground, actor, job_id, owner, "cancel")


@router.delete("/{jobId}", operation_id="deleteJob", status_code=204)
async def delete_job(ground: Here, actor: Operator, job_id: JobId) -> None:
    """It is gone for everybody at once; its rows and its file are taken away in the background."""
    owner = await owner_of_job(ground, actor, job_id)
    await steering.delete(ground.app, job_id, by=actor.name)
    await ground.note(actor.entry("job.delete", kind="job", object=job_id, owner=owner))


@router.post("/{jobId}/reprocess", operation_id="reprocessJob")
async def reprocess(ground: Here, actor: Operator, job_id: JobId, body: ReprocessBody) -> Reprocessed:
    """Run finished items again, with fresh attempts unless `resetAttempts` is false."""
    owner = await owner_of_job(ground, actor, job_id, repeated=True)
    named: Sequence[str] | None = body.statuses
    if body.scope == "items":
        started = await _reprocess_items(ground, actor, job_id, body)
    else:
        if body.item_ids is not None:
            raise Problem(400, "`itemIds` goes with scope `items`.")
        states = [State[name] for name in body.statuses or ()] or list(UNSUCCESSFUL)
        named = [state.name for state in states]
        if body.from_stage is not None and State.PENDING in states:
            raise Problem(400, "`fromStage` goes with items that have ended; leave PENDING out of `statuses`.")
        started = await steering.reprocess(
            ground.app,
            job_id,
            by=actor.name,
            statuses=states,
            from_stage=body.from_stage,
            reset_attempts=body.reset_attempts,
        )
    details = {"scope": body.scope, "statuses": named, "fromStage": body.from_stage, "started": started}
    await ground.note(actor.entry("job.reprocess", kind="job", object=job_id, owner=owner, **details))
    return Reprocessed(started=started)


async def _reprocess_items(ground: Ground, actor: Actor, job_id: int, body: ReprocessBody) -> int:
    """Ids of other jobs are not there for this one. With `statuses`, only those of them that are in one. From a stage
    only what has ended: moving what waits would lose its place."""
    if not body.item_ids:
        raise Problem(400, "Scope `items` needs `itemIds`.")
    wanted = list(dict.fromkeys(body.item_ids))
    async with ground.app.connection() as connection:
        known = await items.of_job(connection, job_id, wanted)
        if strange := [one for one in wanted if one not in known]:
            raise not_found(f"item {strange[0]} in job {job_id}")
        rows = await items.rows(connection, wanted)
    if body.statuses is not None:
        rows = [row for row in rows if row["status"].name in body.statuses]
    if body.from_stage is not None:
        wanted = [row["item_id"] for row in rows]
        started = await task_steering.reprocess(
            ground.app, wanted, by=actor.name, from_stage=body.from_stage, reset_attempts=body.reset_attempts
        )
        return len(started)
    waiting = [row["item_id"] for row in rows if row["status"] is State.PENDING]
    hastened = await steering.hasten(ground.app, job_id, by=actor.name, task_ids=waiting) if waiting else 0
    if not (ended := [row["item_id"] for row in rows if row["status"] is not State.PENDING]):
        return hastened
    started = await task_steering.reprocess(ground.app, ended, by=actor.name, reset_attempts=body.reset_attempts)
    return hastened + len(started)


@router.post("/{jobId}/kickoff", operation_id="kickoffJob")
async def kickoff(
    ground: Here,
    actor: Operator,
    job_id: JobId,
    duration_ms: Annotated[int, Query(alias="durationMs", ge=100, le=30_000, description="How long to work.")] = 5000,
) -> KickedOff:
    """Work on this job for a slice of time inside the request. May be called again and again, also by several at once
    and beside background workers: every item is claimed by exactly one."""
    owner = await owner_of_job(ground, actor, job_id)
    async with ground.app.connection() as connection:
        job = await jobs.get(connection, job_id)
        found = await imports.get(connection, job_id)
    pipeline = "" if job is None else job["pipeline"]
    if pipeline not in ground.app.pipelines:
        raise Problem(409, f"This service does not have the code of {pipeline!r}; a worker that has it goes on.")
    await ground.note(actor.entry("job.kickoff", kind="job", object=job_id, owner=owner, durationMs=duration_ms))
    done = await ground.slices.run(job_id, pipeline, seconds=duration_ms / 1000)
    storing = found is not None and found.open
    async with ground.app.connection() as connection:
        next_due = await items.next_due(connection, job_id)
    return KickedOff.from_record(
        done,
        job_id=job_id,
        took_ms=round(done.took_seconds * 1000),
        ended_because=f"{done.ended_because}; a worker still stores its rows" if storing else done.ended_because,
        more=done.more or storing,
        next_due_at=None if storing else next_due,
        queue_state=done.state,
        lock_ms=round(done.lock_seconds * 1000),
    )


async def _moved(
    ground: Ground, actor: Actor, job_id: int, owner: str | None, move: str, **details: str | None
) -> Moved:
    await ground.note(actor.entry(f"job.{move}", kind="job", object=job_id, owner=owner, **details))
    async with ground.app.connection() as connection:
        state, _ = await job_counts.read(connection, job_id)
    return Moved.model_validate({"job_id": job_id, "queue_state": state})
