"""`/api/dead-letters`: items that ended as ERROR: look, edit, replay one or all that match."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Query
from pydantic import BeforeValidator, Field

from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.ground import Ground, Here
from penstock.console.http.ownership import owner_of_job, owner_of_task, whose
from penstock.console.http.parameters import (
    COUNTED,
    LONGEST_NAME,
    STORABLE,
    After,
    Flag,
    GroupId,
    Moment,
    Name,
    Number,
    PageSize,
    Whose,
)
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import MOST_ID, TaskId, Wire, named
from penstock.control import dead_letters
from penstock.insight.error_groups import group_of
from penstock.insight.task_views import Place, require_pipeline

router = APIRouter(prefix="/api/dead-letters", tags=["operations"], responses=documented(409, 413))

_SUMMARY_CHARACTERS = 200
# One request looks at no more than this; `nextCursor` goes on.
_MOST_PAGES = 20
# A rate holds a request no longer than this.
_LONGEST_SECONDS = 60.0
_PAGE = 500
# One request replays no more than this, and waits no longer than that for a canary.
_MOST_REPLAYED = 5000
_LONGEST_CANARY_SECONDS = 30.0


class DeadLetter(Wire):
    """The whole input, the traceback and the history are in `GET /api/tasks/{taskId}`."""

    item_id: int
    job_id: int | None
    owner: str | None
    pipeline: str
    stage: str
    attempts: int
    run: int
    failed_at: datetime
    group_id: str
    error_class: str | None
    error_type: str | None
    message: str | None
    where: str | None
    input_summary: str


class DeadLetterPage(Wire):
    """A page may be short, or empty, and have a ``nextCursor``: a filter looks at a bounded number of rows."""

    items: list[DeadLetter]
    next_cursor: str | None


class ReplayOne(Wire):
    from_stage: Name | None = Field(None, description="Start from this stage instead of the one it failed in.")


class Started(Wire):
    item_id: int


class Edit(Wire):
    input: dict[str, Any] = Field(description="The new input, checked like that of a new item.")


class Edited(Wire):
    """``itemId`` runs in place of ``replaces``."""

    item_id: int
    replaces: int


class Matching(Wire):
    """Which dead letters are meant. Everything that is given has to fit."""

    pipeline: Name | None = None
    error_type: Name | None = None
    group: GroupId | None = None
    job_id: Annotated[int, Field(ge=1, le=MOST_ID), COUNTED] | None = None
    since: Moment | None = None
    user_id: Whose = Field("me", description="`all`: of all users, for admins; it is audited.")

    def key(self) -> tuple[object, ...]:
        """What a cursor is bound to."""
        return ("dead-letters", self.pipeline, self.error_type, self.group, self.job_id, self.since, self.user_id)


class ReplayMatching(Matching):
    dry_run: Flag = Field(False, description="Only say how many match.")
    most: Annotated[int, Field(ge=1, le=_MOST_REPLAYED), COUNTED] = 1000
    after: Annotated[str, Field(max_length=2000)] | None = Field(None, description="`nextCursor` of the answer before.")
    canary: Flag = Field(False, description="Replay one first and wait for its end; the others stay if it fails.")
    canary_seconds: Annotated[Number, Field(gt=0, le=_LONGEST_CANARY_SECONDS)] = 10.0
    per_second: Annotated[Number, Field(ge=0.1, le=1e5)] | None = Field(
        None, description="At most so many a second. `most` has to fit into 60 seconds of it; `nextCursor` goes on."
    )
    stop_after: Annotated[int, Field(ge=1, le=_MOST_REPLAYED), COUNTED] | None = Field(
        None, description="Stop when so many failed again with the error they had; 10 with a canary."
    )


class ReplayCanary(Wire):
    """``state`` null: it had not ended in time."""

    item_id: int
    state: Annotated[str | None, BeforeValidator(named)]
    same_error: bool


class Replayed(Wire):
    """``nextCursor``: there is more; send the same again with it as ``after``. ``stopped``: the canary failed or did
    not end in time, or ``failedAgain`` became too many; the others stay dead letters, and there is no cursor."""

    matched: int
    replayed: int
    dry_run: bool
    next_cursor: str | None
    stopped: bool = False
    failed_again: int = 0
    canary: ReplayCanary | None = None


@router.get("", operation_id="listDeadLetters")
async def listing(
    ground: Here,
    actor: Viewer,
    pipeline: Annotated[str | None, Query(max_length=LONGEST_NAME, pattern=STORABLE)] = None,
    error_type: Annotated[str | None, Query(alias="errorType", max_length=LONGEST_NAME, pattern=STORABLE)] = None,
    group: Annotated[GroupId | None, Query()] = None,
    job_id: Annotated[int | None, Query(alias="jobId", ge=1, le=MOST_ID)] = None,
    since: Annotated[Moment | None, Query()] = None,
    user_id: Annotated[Whose, Query(alias="userId")] = "me",
    page_size: PageSize = 50,
    after: After = None,
) -> DeadLetterPage:
    """Newest first."""
    matching = Matching(
        pipeline=pipeline, error_type=error_type, group=group, job_id=job_id, since=since, user_id=user_id
    )
    wanted = await _filter(ground, actor, matching)
    place = _place(ground, actor, matching, after)
    found = await dead_letters.page(ground.app, wanted, after=place, limit=page_size)
    items = [item_of(row) for row in found.rows if group is None or group_of(row.error) == group]
    return DeadLetterPage(items=items, next_cursor=_cursor(ground, actor, matching, found.next))


@router.post("/replay", operation_id="replayDeadLetters")
async def replay_matching(ground: Here, actor: Operator, body: ReplayMatching) -> Replayed:
    """Start all that match again, newest first, as many as one request may. The answer comes when they are started; a
    rate that would hold the request for more than 60 seconds is refused with a number that fits."""
    if body.per_second is not None and body.most / body.per_second > _LONGEST_SECONDS:
        fewer = int(body.per_second * _LONGEST_SECONDS)
        raise Problem(400, f"{body.most:,} at {body.per_second:g} a second take too long. Ask for {fewer:,} at a time.")
    wanted = await _filter(ground, actor, body)
    letters, place = await _chosen(ground, wanted, body, _place(ground, actor, body, body.after))
    done = dead_letters.Replay(replayed=0)
    if letters and not body.dry_run:
        done = await dead_letters.replay_matching(
            ground.app,
            _pages(letters),
            by=actor.name,
            canary=body.canary,
            canary_seconds=body.canary_seconds,
            per_second=body.per_second,
            stop_after=body.stop_after,
        )
    if done.replayed:
        chosen = body.model_dump(mode="json", exclude_none=True, exclude={"after", "dry_run"})
        entry = actor.entry("dead-letters.replay", kind="dead-letters", replayed=done.replayed, matching=chosen)
        await ground.note(entry)
    first = done.canary
    return Replayed.from_record(
        done,
        matched=len(letters),
        dry_run=body.dry_run,
        next_cursor=_cursor(ground, actor, body, None if done.stopped else place),
        canary=None if first is None else ReplayCanary.from_record(first, item_id=first.task_id),
    )


async def _chosen(
    ground: Ground, wanted: dead_letters.DeadLetterFilter, asked: ReplayMatching, place: Place | None
) -> tuple[list[dead_letters.DeadLetter], Place | None]:
    """Those that match, and the place behind which there may be more."""
    letters: list[dead_letters.DeadLetter] = []
    for _ in range(_MOST_PAGES):
        found = await dead_letters.page(ground.app, wanted, after=place, limit=min(asked.most - len(letters), _PAGE))
        rows = dead_letters.repeatable(found.rows)
        letters += [row for row in rows if asked.group is None or group_of(row.error) == asked.group]
        place = found.next
        if place is None or len(letters) >= asked.most:
            break
    return letters, place


async def _pages(*pages: Sequence[dead_letters.DeadLetter]) -> AsyncIterator[Sequence[dead_letters.DeadLetter]]:
    for page in pages:
        yield page


@router.post("/{taskId:int}/replay", operation_id="replayDeadLetter")
async def replay(
    ground: Here, actor: Operator, task_id: TaskId, body: Annotated[ReplayOne | None, Body()] = None
) -> Started:
    """Run it again; the error goes into its history."""
    owner = await owner_of_task(ground, actor, task_id)
    from_stage = body.from_stage if body else None
    if not await dead_letters.replay_these(ground.app, [task_id], by=actor.name, from_stage=from_stage):
        raise Problem(409, f"Task {task_id} changed while you wanted to replay it. Look at it again.")
    await ground.note(
        actor.entry("dead-letter.replay", kind="task", object=task_id, owner=owner, from_stage=from_stage)
    )
    return Started(item_id=task_id)


@router.patch("/{taskId:int}", operation_id="editDeadLetter")
async def edit(ground: Here, actor: Operator, task_id: TaskId, body: Edit) -> Edited:
    """Run it with another input: what failed, was not found or was skipped is closed, an edited copy runs."""
    owner = await owner_of_task(ground, actor, task_id)
    copy = await dead_letters.edit(ground.app, task_id, body.input, by=actor.name)
    await ground.note(actor.entry("dead-letter.edit", kind="task", object=task_id, owner=owner, copy=copy.id))
    return Edited(item_id=copy.id, replaces=task_id)


async def _filter(ground: Ground, actor: Actor, asked: Matching) -> dead_letters.DeadLetterFilter:
    """A name or a job that does not exist, or is somebody else's, is told: it would look like an empty list."""
    owner = whose(actor, asked.user_id)
    if asked.job_id is not None:
        await owner_of_job(ground, actor, asked.job_id)
    await require_pipeline(ground.app, asked.pipeline)
    if owner is None:
        await ground.note_look(actor.entry("dead-letters.look", kind="dead-letters", object=asked.job_id or "all"))
    return dead_letters.DeadLetterFilter(
        pipeline=asked.pipeline, error_type=asked.error_type, job_id=asked.job_id, since=asked.since, owner=owner
    )


def _place(ground: Ground, actor: Actor, asked: Matching, after: str | None) -> Place | None:
    if after is None:
        return None
    at, task_id = ground.cursors.take(actor.name, asked.key(), after)
    assert isinstance(at, datetime) and isinstance(task_id, int)  # noqa: PT018
    return Place(task_id=task_id, at=at)


def _cursor(ground: Ground, actor: Actor, asked: Matching, place: Place | None) -> str | None:
    return None if place is None else ground.cursors.give(actor.name, asked.key(), [place.at, place.task_id])


def item_of(letter: dead_letters.DeadLetter) -> DeadLetter:
    error = letter.error
    return DeadLetter.from_record(
        letter,
        item_id=letter.task_id,
        failed_at=letter.finished_at,
        group_id=group_of(error),
        error_class=_text(error.get("class")),
        error_type=_text(error.get("type")),
        message=_text(error.get("message")),
        where=_text(error.get("where")),
        input_summary=orjson.dumps(letter.input)[: _SUMMARY_CHARACTERS * 4].decode("utf-8", "ignore")[
            :_SUMMARY_CHARACTERS
        ],
    )


def _text(value: object) -> str | None:
    """Errors are stored as JSON; old workers and other languages may have written what they liked."""
    return None if value is None else str(value)
