"""One record as a reviewer sees it: what the file says, the candidates, and why each has its score."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.readable import clean, short

if TYPE_CHECKING:
    from penstock.apps.record_linking.project import Project
    from penstock.apps.record_linking.record import Candidate, Record

MOST_SHOWN = 7
KEYS = "1-7 accept · r reject · s skip · u undo · n note · q quit"
_BAR = 12


def screen(project: "Project", record: "Record", candidates: Sequence["Candidate"], *, left: int | None = None) -> str:
    """As text; nothing in it can move the cursor, whatever the file or the source says."""
    lines = [_head(project, record, left), ""]
    filled = [column for column in project.columns if column in record.cells]
    width = max((len(clean(column)) for column in filled), default=0)
    for column in filled:
        text, role = record.cells[column], project.roles.get(column)
        told = "" if role is None else f"  ({role.property or role.role})"
        lines.append(f"  {clean(column).ljust(width)}  {short(text, 100)}{told}")
    if record.note:
        lines.append(f"  note: {short(record.note, 200)}")
    lines.append("")
    if not candidates:
        lines.append(f"  no candidates{': ' + clean(record.error) if record.error else ''}")
    for one in candidates[:MOST_SHOWN]:
        lines += _candidate(one)
    if len(candidates) > MOST_SHOWN:
        lines.append(f"  {len(candidates) - MOST_SHOWN} more")
    return "\n".join(lines)


def waterfall(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per step: what it gave, and why. The points add up to the score."""
    lines = []
    for part in parts:
        points = float(part["points"])
        bar = "█" * min(_BAR, round(abs(points) * _BAR))
        lines.append(
            f"       {points:+.2f} {bar.ljust(_BAR)} {clean(str(part['feature']))}: {short(str(part['said']), 90)}"
        )
    return lines


def _head(project: "Project", record: "Record", left: int | None) -> str:
    told = f"record {record.number:,} of {clean(project.name)} · {record.state.name}"
    if record.decided_by is not None:
        told += f" by {clean(record.decided_by)}"
    return told if left is None else f"{told} · {left:,} to review"


def _candidate(one: "Candidate") -> list[str]:
    described = f" – {short(one.description, 70)}" if one.description else ""
    head = f"  [{one.rank}] {one.score:.2f}  {short(one.label, 60)}  {clean(one.entity)}{described}"
    return [head, *waterfall(one.parts)]
