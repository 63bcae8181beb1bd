"""Things and records with their right answers, as files: ``entities.json`` and ``records.json`` in one folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import UsageError
from penstock.extensions.linking import entity
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.project import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRecord:
    """``expected``: the id of the right answer; None where there is none. ``held_out``: nothing was tuned on it."""

    wanted: Wanted
    difficulty: str
    expected: str | None
    held_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRecords:
    entities: Mapping[str, Entity]
    records: Sequence[LabelledRecord]


def load(folder: Path) -> LabelledRecords:
    entities = [entity.from_json(given) for given in _rows(folder / "entities.json")]
    records = [_record(given) for given in _rows(folder / "records.json")]
    known = {one.id: one for one in entities}
    if len(known) < len(entities):
        raise UsageError(f"{len(entities)} entities of {folder} share {len(known)} ids. Give each one of its own.")
    for one in records:
        if one.expected is not None and one.expected not in known:
            raise UsageError(f"The record {one.wanted.name!r} expects {one.expected!r}, which is no entity of the set.")
    return LabelledRecords(entities=known, records=records)


def usual() -> Path:
    """The repository's own, for those who have it; a wheel holds none."""
    folder = Path(__file__).parents[1] / "linking"
    if not folder.is_dir():
        raise UsageError("The labelled records are not part of an installed Penstock. Name the folder of some.")
    return folder


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise UsageError(f"There is no {path}. Name a folder with entities.json and records.json.")
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def _record(given: Mapping[str, Any]) -> LabelledRecord:
    wanted = Wanted(
        name=given["name"],
        aliases=tuple(given["aliases"]),
        languages=tuple(given["languages"]),
        types=tuple(given["types"]),
        properties={name: tuple(texts) for name, texts in given["properties"].items()},
    )
    return LabelledRecord(
        wanted=wanted, difficulty=given["difficulty"], expected=given["expected"], held_out=given["held_out"]
    )
