"""How good the records are that were accepted without a person."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.scoring.score import Scored, verdict
from penstock_bench.linking_set import LabelledRecord

CURVE = (0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.92, 0.95, 0.98)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    record: LabelledRecord
    ranked: Sequence[Scored]

    @property
    def found(self) -> bool:
        return any(one.entity == self.record.expected for one in self.ranked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """``right``, ``wrong``: accepted ones. ``answerable``: records that have a right answer, found or not."""

    records: int
    answerable: int
    found: int
    first: int
    right: int
    wrong: int

    @property
    def precision(self) -> float:
        accepted = self.right + self.wrong
        return round(self.right / accepted, 4) if accepted else 1.0

    @property
    def recall(self) -> float:
        return round(self.right / self.answerable, 4) if self.answerable else 1.0

    def as_dict(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("records", "answerable", "found", "first", "right", "wrong")}
        return counts | {"precision": self.precision, "recall": self.recall}


def marks(matched: Iterable[Matched], accept_score: float, accept_gap: float) -> Marks:
    chosen = list(matched)
    taken = [one for one in chosen if accepted(one, accept_score, accept_gap)]
    right = sum(_right(one) for one in taken)
    return Marks(
        records=len(chosen),
        answerable=sum(one.record.expected is not None for one in chosen),
        found=sum(one.found for one in chosen),
        first=sum(bool(one.ranked) and _right(one) for one in chosen),
        right=right,
        wrong=len(taken) - right,
    )


def accepted(one: Matched, accept_score: float, accept_gap: float) -> bool:
    return verdict(one.ranked, accept_score, accept_gap).state is RecordState.ACCEPTED


def curve(matched: Sequence[Matched], accept_gap: float) -> list[dict[str, Any]]:
    rows = []
    for score in CURVE:
        at = marks(matched, score, accept_gap)
        rows.append({"accept_score": score, "precision": at.precision, "recall": at.recall, "wrong": at.wrong})
    return rows


def _right(one: Matched) -> bool:
    return one.ranked[0].entity == one.record.expected
