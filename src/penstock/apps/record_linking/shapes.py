"""What is stored, in the form of the wire."""

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from penstock.apps.record_linking.decisions import Decision
from penstock.apps.record_linking.progress import Progress
from penstock.apps.record_linking.project import Options, Project
from penstock.apps.record_linking.record import Candidate, Record
from penstock.apps.record_linking.review import BulkAccept
from penstock.apps.record_linking.scoring.weights import Weights
from penstock.apps.record_linking.states import RecordState
from penstock.apps.record_linking.wire import FailureBody, ProgressBody, ProjectBody, RoleBody
from penstock.apps.record_linking.wire_records import (
    AcceptedManyBody,
    CandidateBody,
    DecisionBody,
    PartBody,
    RecordBody,
    RecordDetail,
    ScoresBody,
    ScoreStep,
    StepBody,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from penstock.apps.record_linking.records import Spread
    from penstock.apps.record_linking.shared import RecordLinking

_STEPS = 20
_DIGITS = 4


def project_body(linking: "RecordLinking", project: Project) -> ProjectBody:
    options = linking.options_of(project)
    return ProjectBody(
        project_id=project.id,
        name=project.name,
        owner=project.owner,
        source=project.source,
        columns=list(project.columns),
        roles={column: RoleBody(role=role.role, property=role.property) for column, role in project.roles.items()},
        options=options_body(options),
        running=project.running,
        job_id=project.job_id,
        started_at=project.started_at,
        ended_at=project.ended_at,
        created_at=project.created_at,
        updated_at=project.updated_at,
    )


def options_body(options: Options) -> "dict[str, Any]":
    return {
        "languages": list(options.languages),
        "types": list(options.types),
        "candidates": options.candidates,
        "acceptScore": options.accept_score,
        "acceptGap": options.accept_gap,
        "weights": Weights.from_options(options.weights).as_dict(),
    }


def progress_body(found: Progress) -> ProgressBody:
    return ProgressBody(
        counts={state.name: count for state, count in found.counts.items()},
        total=found.total,
        ended=found.ended,
        requests_done=found.requests_done,
        requests_left=found.requests_left,
        per_second=round(found.per_second, 2),
        eta_seconds=None if found.eta_seconds is None else round(found.eta_seconds, 1),
        cause=found.cause,
        failures=[FailureBody(reason=one.reason, count=one.count) for one in found.failures],
    )


def record_fields(record: Record) -> "dict[str, Any]":
    """Also for the command line. A reason is told only where it says why the record is what it is."""
    told = record.state in (RecordState.ERROR, RecordState.NO_CANDIDATE)
    return {
        "number": record.number,
        "cells": dict(record.cells),
        "state": record.state.name,
        "entity": record.entity,
        "label": record.label,
        "score": _rounded(record.score),
        "gap": _rounded(record.gap),
        "by_hand": by_hand(record),
        "decided_by": record.decided_by,
        "decided_at": record.decided_at,
        "note": record.note,
        "error": record.error if told else None,
        "updated_at": record.updated_at,
    }


def by_hand(record: Record) -> bool:
    return record.state is RecordState.ACCEPTED and record.score is None


def record_body(record: Record) -> RecordBody:
    return RecordBody(**record_fields(record))


def record_detail(record: Record, candidates: list[Candidate]) -> RecordDetail:
    return RecordDetail(
        **record_fields(record),
        query=record.query,
        language=record.language,
        candidates=[candidate_body(one) for one in candidates],
    )


def candidate_body(one: Candidate) -> CandidateBody:
    return CandidateBody(
        rank=one.rank,
        entity=one.entity,
        label=one.label,
        description=one.description,
        score=round(one.score, _DIGITS),
        parts=[PartBody(**part) for part in one.parts],
    )


def bulk_body(done: BulkAccept, *, dry_run: bool) -> AcceptedManyBody:
    return AcceptedManyBody(
        accepted=done.count,
        waiting=done.waiting,
        dry_run=dry_run,
        batch=done.batch,
        min_gap=done.min_gap,
        examples=[record_body(one) for one in done.examples],
        below=[record_body(one) for one in done.below],
        histogram=[
            StepBody(
                from_score=one.step / _STEPS, to_score=(one.step + 1) / _STEPS, waiting=one.waiting, taken=one.taken
            )
            for one in done.steps
        ],
    )


def scores_body(found: "Sequence[Spread]", options: Options, most: int) -> ScoresBody:
    """``most``: that were looked at of each state."""
    counts = {(one.state, one.step): one.count for one in found}
    looked = Counter[RecordState]()
    for one in found:
        looked[one.state] += one.count
    return ScoresBody(
        steps=[
            ScoreStep(
                from_score=step / _STEPS,
                to_score=(step + 1) / _STEPS,
                review=counts.get((RecordState.REVIEW, step), 0),
                accepted=counts.get((RecordState.ACCEPTED, step), 0),
                no_candidate=counts.get((RecordState.NO_CANDIDATE, step), 0),
            )
            for step in range(_STEPS)
        ],
        looked_at=looked.total(),
        complete=all(count < most for count in looked.values()),
        accept_score=options.accept_score,
        accept_gap=options.accept_gap,
    )


def decision_body(one: Decision) -> DecisionBody:
    fields = {**asdict(one), "from_state": one.from_state.name, "to_state": one.to_state.name}
    return DecisionBody(decision_id=fields.pop("id"), **fields)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
