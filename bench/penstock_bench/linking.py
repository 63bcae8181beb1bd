"""`penstock bench linking`: are records matched with the right things, and how often without a person?

The set in ``bench/linking`` has invented things, and records with the right answer or none. Candidates come from a
search in memory; ranking and verdict are those of the application, with the settings as they are.
"""

import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.project import Wanted
from penstock.extensions.linking.scoring.score import rank
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.settings import LinkingSettings
from penstock.terminal.output import Column, write_table
from penstock.terminal.session import Session
from penstock_bench import linking_set
from penstock_bench.linking_marks import Matched, accepted, curve, marks
from penstock_bench.linking_search import NearestNames
from penstock_bench.linking_set import LabelledRecords

_SPEED_SECONDS = 1.0


def linking(session: Session, folder: Path | None) -> None:
    labelled = linking_set.load(folder if folder is not None else linking_set.usual())
    settings = session.settings
    matched = match_all(labelled, Weights())
    figures = figures_of(matched, settings.of(LinkingSettings).accept_score, settings.of(LinkingSettings).accept_gap)
    figures |= {"entities": len(labelled.entities), "pairs_per_second": pairs_per_second(labelled)}
    figures |= {"machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()}}
    if session.out.json:
        session.out.emit(figures)
        return
    _tell(session, figures)


def match_all(labelled: LabelledRecords, weights: Weights) -> list[Matched]:
    source = NearestNames(labelled.entities.values())
    return [Matched(record=one, ranked=rank(one.wanted, source.find(one.wanted), weights)) for one in labelled.records]


def figures_of(matched: Sequence[Matched], accept_score: float, accept_gap: float) -> dict[str, Any]:
    held_out = [one for one in matched if one.record.held_out]
    tuned = [one for one in matched if not one.record.held_out]
    whole, unseen, seen = (marks(part, accept_score, accept_gap) for part in (matched, held_out, tuned))
    kinds = list(dict.fromkeys(one.record.difficulty for one in matched))
    return {
        "records": len(matched),
        "held_out": len(held_out),
        "accept_score": accept_score,
        "accept_gap": accept_gap,
        "precision": whole.precision,
        "recall": whole.recall,
        "tuned_precision": seen.precision,
        "tuned_recall": seen.recall,
        "held_out_precision": unseen.precision,
        "held_out_recall": unseen.recall,
        "by_difficulty": [
            {"difficulty": kind}
            | marks([one for one in matched if one.record.difficulty == kind], accept_score, accept_gap).as_dict()
            for kind in kinds
        ],
        "curve": curve(matched, accept_gap),
        "wrong": [_wrong(one) for one in matched if _is_wrong(one, accept_score, accept_gap)],
    }


def pairs_per_second(labelled: LabelledRecords) -> int:
    """Every record against its candidates, by seconds of CPU: a machine that others use, too, makes no difference.
    Searching is not in it; what scoring remembers of names is, as in a long run."""
    source = NearestNames(labelled.entities.values())
    work: list[tuple[Wanted, list[Entity]]] = [(one.wanted, source.find(one.wanted)) for one in labelled.records]
    weights = Weights()
    pairs, began = 0, time.process_time()
    while (seconds := time.process_time() - began) < _SPEED_SECONDS:
        for wanted, entities in work:
            rank(wanted, entities, weights)
            pairs += len(entities)
    return round(pairs / seconds)


def _is_wrong(one: Matched, accept_score: float, accept_gap: float) -> bool:
    return accepted(one, accept_score, accept_gap) and one.ranked[0].entity != one.record.expected


def _wrong(one: Matched) -> dict[str, Any]:
    """For looking at what goes wrong."""
    best = one.ranked[0]
    said = [part.said for part in best.parts if part.points]
    return {
        "name": one.record.wanted.name,
        "difficulty": one.record.difficulty,
        "expected": one.record.expected,
        "accepted": best.entity,
        "score": best.score,
        "said": said,
    }


def _tell(session: Session, figures: dict[str, Any]) -> None:
    out = session.out.stdout
    kinds = [Column(key=key, title=key, show=_shown) for key in figures["by_difficulty"][0]]
    write_table(out, figures["by_difficulty"], kinds)
    write_table(
        out,
        figures["curve"],
        [Column(key=key, title=key.replace("_", " "), show=_shown) for key in figures["curve"][0]],
    )
    shown = {name: _shown(value) for name, value in figures.items()}
    out.write(
        "{records} records, {entities} entities; accepted from {accept_score} with a gap of {accept_gap}: precision "
        "{precision} (goal 0.97), recall {recall} (goal 0.85); held out {held_out_precision} and {held_out_recall}. "
        "{pairs_per_second} pairs/s.\n".format_map(shown)
    )
    out.flush()


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
