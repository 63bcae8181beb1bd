"""What people decide about records: accept, reject, reopen, note; many at once by threshold; undo.

A record is held while it is decided about, and the project in share, so that neither a second reviewer nor a run that
starts decides at the same moment. Every decision is audited in its own transaction.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID, uuid4

from penstock import IllegalMove
from penstock.control.acting import By
from penstock.errors import InvalidSetting, UsageError
from penstock.extensions.linking import candidates, decisions, projects, records
from penstock.extensions.linking.candidates import Candidate
from penstock.extensions.linking.decisions import Decision, Step, Target, Undone
from penstock.extensions.linking.project import LIKE_WIKIDATA, Project
from penstock.extensions.linking.projects import ProjectNotFound
from penstock.extensions.linking.record import UNDER_WAY, Record, RecordState
from penstock.extensions.linking.records import RecordNotFound
from penstock.extensions.linking.shared import RecordLinking
from penstock.storage import audit

Move = Literal["accept", "reject", "reopen"]
EXAMPLES = 20
LONGEST_NOTE = 2000
_LOOK_AGAIN = "Look at it again, and decide with what you see there as `seen`."
# Items only: properties (P31) and lexemes (L1) are no things that a record could mean.
_WIKIDATA_ID = re.compile(r"Q[1-9][0-9]{0,9}")
_OTHER_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")
_REST = tuple(state.name for state in RecordState if state not in UNDER_WAY)


class DecidedMeanwhile(IllegalMove):
    """Somebody was quicker. ``record``: as it is now."""

    def __init__(self, record: Record, move: str, next_step: str = _LOOK_AGAIN) -> None:
        self.record = record
        now = record.state.name if record.entity is None else f"{record.state.name} as {record.entity}"
        by = "by itself" if record.decided_by is None else f"by {record.decided_by}"
        super().__init__(
            move=move,
            subject=f"record {record.number} of project {record.project_id}",
            state=f"{now}, decided {by}" if record.decided_at else now,
            allowed_from=("what you saw",),
            next_step=next_step,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a reviewer had before them. A decision that is based on something else is not made. ``entity`` None:
    whatever was shown as its match, the decision is not about that."""

    state: RecordState
    decided_at: datetime | None = None
    entity: str | None = None

    def still(self, record: Record) -> bool:
        same = (record.state, record.decided_at) == (self.state, self.decided_at)
        return same and self.entity in (None, record.entity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """``batch`` None: it was so already, by the same person."""

    record: Record
    batch: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkAccept:
    """``min_gap``: that was asked for. ``examples``: what it takes, nearest to the threshold; ``below``: what it
    leaves. ``runners_up``: number → the second candidate. ``histogram``: the scores of what waits for review."""

    accepted: int
    waiting: int
    dry_run: bool
    batch: UUID | None
    min_gap: float
    examples: tuple[Record, ...]
    below: tuple[Record, ...]
    runners_up: Mapping[int, Candidate]
    histogram: tuple[Step, ...]


async def decide(
    linking: RecordLinking,
    project_id: int,
    number: int,
    move: Move,
    by: By,
    *,
    entity: str | None = None,
    seen: Seen | None = None,
    note: str | None = None,
) -> Decided:
    """``accept``: without ``entity``, what was seen, or else the best candidate; an id that is no candidate is taken by
    hand, and has no score. ``reject``: none of the candidates is it. ``reopen``: to be reviewed again, so that runs and
    rankings may change it from now on. Without ``seen``, what somebody else decided is not overruled."""
    async with linking.app.connection() as connection, connection.transaction():
        project = await _held(connection, project_id)
        record = await decisions.hold_record(connection, project_id, number)
        if record.state in UNDER_WAY:
            raise IllegalMove(
                move=move,
                subject=f"record {number} of project {project_id}",
                state=record.state.name,
                allowed_from=_REST,
                next_step=f"Wait until it is matched, or cancel the run: `penstock link cancel {project_id}`.",
            )
        if not seen.still(record) if seen is not None else record.decided_by not in (None, by.actor):
            raise DecidedMeanwhile(record, move)
        target = Target(state=RecordState.REJECTED)
        if move == "accept":
            if seen is not None and entity is None and seen.entity is None:
                # A ranking may have put another candidate first, which leaves state and decision as they were.
                raise DecidedMeanwhile(record, move, "Say which entity you mean, as `entity` or in `seen`.")
            meant = entity or (None if seen is None else seen.entity)
            target = await _chosen(linking, connection, project, record, meant)
        elif move == "reopen":
            target = await _reopened(connection, record)
        same = (record.state, record.entity) == (target.state, target.entity)
        batch: UUID | None = None
        if not (same and record.decided_by == (by.actor if target.decided else None)):
            batch = uuid4()
            await decisions.decide(connection, record, batch, move, target, by.actor)
            details = {"record": number, "entity": target.entity, "was": record.state.name, "batch": str(batch)}
            await _audit(connection, project, by, move, **details)
        if note is not None:
            await decisions.set_note(connection, project.id, number, _note(note))
        decided = Decided(record=await records.require(connection, project_id, number), batch=batch)
    linking.app.events.emit("linking.decided", project=project_id, move=move, records=1, by=by.actor)
    return decided


async def set_note(linking: RecordLinking, project_id: int, number: int, text: str | None, by: By) -> Record:
    """``text`` None or empty: it goes. Also while the record is being matched: it decides nothing."""
    kept = _note(text)
    async with linking.app.connection() as connection, connection.transaction():
        project = await _held(connection, project_id)
        if not await decisions.set_note(connection, project_id, number, kept):
            raise RecordNotFound(project_id, number)
        await _audit(connection, project, by, "note", record=number)
        return await records.require(connection, project_id, number)


async def accept_above(
    linking: RecordLinking,
    project_id: int,
    by: By,
    *,
    min_score: float,
    min_gap: float | None = None,
    dry_run: bool = False,
) -> BulkAccept:
    """All that wait for review and are that sure. ``min_gap`` None: that of the project, so that ties wait for people.
    A dry run says what it would be; the same conditions are checked again when it is done."""
    for name, value in (("min_score", min_score), ("min_gap", min_gap)):
        if value is not None and (isinstance(value, bool) or not 0 <= value <= 1):
            raise InvalidSetting(name, value, "scores go from 0 to 1")
    batch = None if dry_run else uuid4()
    async with linking.app.connection() as connection, connection.transaction():
        project = await _held(connection, project_id)
        gap = linking.options_of(project).accept_gap if min_gap is None else min_gap
        steps = await decisions.histogram(connection, project_id, min_score, gap)
        examples = await decisions.near(connection, project_id, min_score, gap, taken=True, limit=EXAMPLES)
        below = await decisions.near(connection, project_id, min_score, gap, taken=False, limit=EXAMPLES)
        seconds = await candidates.of_records(connection, [one.id for one in examples], most=2)
        count = sum(step.taken for step in steps)
        if batch is not None:
            count = await decisions.accept_above(connection, project_id, min_score, gap, batch=batch, by=by.actor)
            details = {"records": count, "batch": str(batch), "min_score": min_score, "min_gap": gap}
            await _audit(connection, project, by, "accept_above", **details)
    if batch is not None:
        linking.app.events.emit("linking.decided", project=project_id, move="accept", records=count, by=by.actor)
    return BulkAccept(
        accepted=count,
        waiting=sum(step.waiting for step in steps),
        dry_run=dry_run,
        batch=batch if count else None,
        min_gap=gap,
        examples=tuple(examples),
        below=tuple(below),
        runners_up={one.number: seconds[one.id][1] for one in examples if len(seconds[one.id]) > 1},
        histogram=tuple(steps),
    )


async def undo(
    linking: RecordLinking, project_id: int, by: By, *, batch: UUID | None = None, number: int | None = None
) -> Undone:
    """A whole batch, or the last decision about one record: as far as nobody changed it since. Who names a batch has
    seen whose it is; who names a record takes back only what they decided themselves."""
    if (batch is None) == (number is None):
        raise UsageError("Say what to undo: either a batch or a record, not both.")
    async with linking.app.connection() as connection, connection.transaction():
        project = await _held(connection, project_id)
        if number is not None:
            await _require_own(connection, project_id, number, by)
        new = uuid4()
        done = await decisions.undo(connection, project_id, batch=batch, number=number, new_batch=new, by=by.actor)
        meant = done.undone + done.changed_since
        if not meant:
            what = f"batch {batch}" if batch is not None else f"record {number}"
            raise UsageError(f"There is no decision of {what} in project {project_id} that could be undone.")
        if not done.undone:
            raise IllegalMove(
                move="undo",
                subject=f"{meant:,} decisions in project {project_id}",
                state="changed since",
                allowed_from=("as the decision left it",),
                next_step="Look at the history of the records, and decide anew.",
            )
        details = {"batch": None if batch is None else str(batch), "record": number}
        await _audit(connection, project, by, "undo", records=done.undone, **details)
    linking.app.events.emit("linking.decided", project=project_id, move="undo", records=done.undone, by=by.actor)
    return done


async def history(
    linking: RecordLinking, project_id: int, number: int, *, before: int | None = None, limit: int = 50
) -> list[Decision]:
    """Newest first."""
    async with linking.app.connection() as connection:
        record = await records.require(connection, project_id, number)
        return await decisions.history(connection, record.id, before=before, limit=limit)


async def _held(connection: Any, project_id: int) -> Project:
    project = await projects.hold(connection, project_id, None)
    if project is None:
        raise ProjectNotFound(project_id)
    return project


async def _require_own(connection: Any, project_id: int, number: int, by: By) -> None:
    record = await decisions.hold_record(connection, project_id, number)
    last = await decisions.last(connection, record.id)
    if last is not None and last.by != by.actor:
        raise DecidedMeanwhile(record, "undo", f"The last decision is by {last.by}: undo its batch, {last.batch}.")


async def _chosen(
    linking: RecordLinking, connection: Any, project: Project, record: Record, entity: str | None
) -> Target:
    """``entity`` None: the best candidate."""
    found = await candidates.of_record(connection, record.id)
    if entity is None and not found:
        raise UsageError(
            f"Record {record.number} has no candidate to accept. Give the id of what it is, or reject the record."
        )
    for one in found:
        if entity in (None, one.entity):
            return Target(state=RecordState.ACCEPTED, entity=one.entity, label=one.label, score=one.score)
    assert entity is not None
    return await _by_hand(linking, connection, project, entity)


async def _by_hand(linking: RecordLinking, connection: Any, project: Project, entity: str) -> Target:
    """No candidate, but somebody knows better: its label is what the cache knows of it, else the id itself."""
    pattern, example = (
        (_WIKIDATA_ID, "Q42") if project.source in LIKE_WIKIDATA else (_OTHER_ID, "a text without spaces")
    )
    if pattern.fullmatch(entity) is None:
        raise InvalidSetting("entity", entity[:100], f"ids of {project.source} look like {example}")
    known, missing = await decisions.cached_label(connection, project.source, entity)
    if missing:
        raise InvalidSetting("entity", entity[:100], f"{project.source} says that there is no such thing")
    if known is None:
        return Target(state=RecordState.ACCEPTED, entity=entity, label=entity)
    languages = linking.options_of(project).languages
    return Target(state=RecordState.ACCEPTED, entity=known.id, label=known.label(languages))


async def _reopened(connection: Any, record: Record) -> Target:
    """NO_CANDIDATE where it has none."""
    found = await candidates.of_record(connection, record.id)
    if not found:
        return Target(state=RecordState.NO_CANDIDATE, decided=False)
    best = found[0]
    return Target(state=RecordState.REVIEW, entity=best.entity, label=best.label, score=best.score, decided=False)


async def _audit(connection: Any, project: Project, by: By, act: str, **details: Any) -> None:
    entry = by.entry(f"project.{act}", kind="project", object=project.id, owner=project.owner, **details)
    await audit.append(connection, entry)


def _note(text: str | None) -> str | None:
    kept = (text or "").strip()
    if len(kept) > LONGEST_NOTE or "\0" in kept:
        raise InvalidSetting("note", kept[:50], f"use at most {LONGEST_NOTE:,} characters that can be stored")
    return kept or None
