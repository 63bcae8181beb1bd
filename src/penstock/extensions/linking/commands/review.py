"""`penstock link review`: record after record in the terminal, or a table."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any
from uuid import UUID

import typer

from penstock.control.acting import By
from penstock.errors import IllegalMove, InvalidSetting, UsageError
from penstock.extensions.linking import candidates, records, review
from penstock.extensions.linking.candidates import Candidate
from penstock.extensions.linking.commands.ground import ProjectArgument, opened, project_of
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.record import Record, RecordState
from penstock.extensions.linking.review import Seen
from penstock.extensions.linking.scoring.score import Part
from penstock.extensions.linking.shared import RecordLinking
from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.pages import LimitOption, on_terminal, show_page
from penstock.terminal.readable import clean, short
from penstock.terminal.session import Session

StatusOption = Annotated[
    str, typer.Option("--status", help="Which records: REVIEW, ACCEPTED, REJECTED, NO_CANDIDATE, ERROR … or all.")
]
RecordOption = Annotated[int | None, typer.Option("--record", min=1, metavar="NUMBER", help="Show only this one.")]
AfterOption = Annotated[int, typer.Option("--after", min=0, metavar="NUMBER", help="Begin behind this record.")]
_MOST_SHOWN = 7
_KEYS = "1-7 accept · r reject · s skip · u undo · n note · q quit"
_BAR = 12
_RECORDS = (
    Column(key="number", title="record", right=True, show=str),
    Column(key="name", title="name", show=lambda value: short(value, 40) or "–"),
    Column(key="state", title="state"),
    Column(key="entity", title="match", show=lambda value: short(value, 20) or "–"),
    Column(key="label", title="label", show=lambda value: short(value, 40) or "–"),
    Column(key="score", title="score", right=True, show=lambda value: "–" if value is None else f"{value:.2f}"),
    Column(key="gap", title="gap", right=True, show=lambda value: "–" if value is None else f"{value:.2f}"),
    Column(key="why", title="note", show=lambda value: short(value, 50) or "–"),
)


def register(app: typer.Typer) -> None:
    @command(app)
    async def review(
        session: Session,
        project: ProjectArgument,
        status: StatusOption = "REVIEW",
        record: RecordOption = None,
        limit: LimitOption = 50,
        after: AfterOption = 0,
    ) -> None:
        """Decide record by record with single keys: 1-7 accept, r reject, s skip, u undo, n note, q quit.

        Without a terminal, or with -o json, it prints the records instead.
        """
        async with opened(session) as linking:
            found = await project_of(linking, project)
            if record is not None:
                await _show_one(session, linking, found, record)
            elif on_terminal() and session.out.stdout.isatty() and not session.out.json:
                with keys() as read:
                    await Review(session, linking, found, read, status=status, last=after).run()
            else:
                await _table(session, linking, found, status, limit, after)


@dataclass
class Review:
    """A sitting. ``done``: what was decided in it, for undo."""

    session: Session
    linking: RecordLinking
    project: Project
    keys: "Keys"
    status: str = "REVIEW"
    last: int = 0
    done: list[tuple[UUID, int]] = field(default_factory=list)
    decided: int = 0

    async def run(self) -> None:
        while (shown := await self._next()) is not None:
            if not await self._decide(*shown):
                break
        told = "That was all." if shown is None else "Stopped."
        self._say(f"{told} {self.decided:,} decided in this sitting.")

    async def _next(self) -> tuple[Record, list[Candidate]] | None:
        async with self.linking.app.connection() as connection:
            states = states_of(self.status)
            page = await records.page(connection, self.project.id, states=states, after=self.last, limit=1)
            if not page:
                return None
            found = await candidates.of_record(connection, page[0].id)
            counts = await records.counts(connection, self.project.id)
        left = sum(counts[one] for one in states or counts)
        self._say(f"\n{screen(self.project, page[0], found, left=left)}\n\n{_KEYS}")
        return page[0], found

    async def _decide(self, record: Record, found: list[Candidate]) -> bool:
        """False: the reviewer has had enough. Whatever leaves ``last`` as it is shows the record again."""
        seen = Seen(state=record.state, decided_at=record.decided_at, entity=record.entity)
        by = By.command_line()
        try:
            match await self.keys.key():
                case "q" | "" | "\x04":
                    return False
                case "s":
                    self.last = record.number
                case "u":
                    await self._undo(by)
                case "n":
                    await self._note(record, by)
                case "r":
                    done = await review.decide(self.linking, self.project.id, record.number, "reject", by, seen=seen)
                    self._moved(done.batch, record, "rejected")
                case sign if sign.isdigit() and 0 < int(sign) <= min(len(found), _MOST_SHOWN):
                    entity = found[int(sign) - 1].entity
                    done = await review.decide(
                        self.linking, self.project.id, record.number, "accept", by, entity=entity, seen=seen
                    )
                    self._moved(done.batch, record, f"accepted as {entity}")
                case _:
                    self._say("No such key here.")
        except (IllegalMove, UsageError) as error:
            self._say(clean(str(error)))
            self.last = record.number
        return True

    def _moved(self, batch: UUID | None, record: Record, how: str) -> None:
        if batch is not None:
            self.done.append((batch, record.number))
            self.decided += 1
        self.last = record.number
        self._say(f"→ record {record.number:,} {clean(how)}")

    async def _undo(self, by: Any) -> None:
        if not self.done:
            self._say("Nothing was decided in this sitting. `penstock link undo` goes further back.")
            return
        batch, number = self.done.pop()
        await review.undo(self.linking, self.project.id, by, batch=batch)
        self.decided -= 1
        self.last = number - 1
        self._say(f"→ record {number:,} is as it was")

    async def _note(self, record: Record, by: Any) -> None:
        self.session.out.stdout.write("note: ")
        self.session.out.stdout.flush()
        text = await self.keys.line()
        await review.set_note(self.linking, self.project.id, record.number, text, by)

    def _say(self, text: str) -> None:
        self.session.out.stdout.write(text + "\n")
        self.session.out.stdout.flush()


def states_of(text: str) -> Any:
    """None: all of them."""
    if text.lower() == "all":
        return None
    try:
        return [RecordState[one.strip().upper().replace("-", "_")] for one in text.split(",")]
    except KeyError:
        known = ", ".join(one.name for one in RecordState)
        raise InvalidSetting("--status", text, f"use some of {known}, with commas between, or all") from None


async def _show_one(session: Session, linking: RecordLinking, project: Project, number: int) -> None:
    from penstock.extensions.linking.wire import record_detail

    async with linking.app.connection() as connection:
        record = await records.require(connection, project.id, number)
        found = await candidates.of_record(connection, record.id)
    told = await review.history(linking, project.id, number)
    data = record_detail(record, found).model_dump()
    data["history"] = [asdict(one) for one in told]
    lines = [
        f"  {one.at:%Y-%m-%d %H:%M:%S} {one.move} by {clean(one.by)}: {one.from_state} → {one.to_state}"
        f"{' (undone)' if one.undone_at else ''}"
        for one in told
    ]
    session.out.show(data, "\n".join([screen(project, record, found), *(["", "history"] if lines else []), *lines]))


async def _table(
    session: Session, linking: RecordLinking, project: Project, status: str, limit: int, after: int
) -> None:
    from penstock.extensions.linking.wire import record_detail

    async with linking.app.connection() as connection:
        page = await records.page(connection, project.id, states=states_of(status), after=after, limit=limit + 1)
        shown = page[:limit]
        found = await candidates.of_records(connection, [one.id for one in shown], most=_MOST_SHOWN)
    name = next((column for column, role in project.roles.items() if role.role == "name"), "")
    rows = []
    for one in shown:
        row = record_detail(one, found[one.id]).model_dump(exclude={"query", "language"})
        rows.append(row | {"name": one.cells.get(name), "why": row["note"] or row["error"]})
    following = str(shown[-1].number) if len(page) > limit else None
    show_page(session, rows, following, _RECORDS, empty=f"Project {project.id} has no records in {status}.")


def screen(project: Project, record: Record, candidates: Sequence[Candidate], *, left: int | None = None) -> str:
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
    for one in candidates[:_MOST_SHOWN]:
        lines += _candidate(one)
    if len(candidates) > _MOST_SHOWN:
        lines.append(f"  {len(candidates) - _MOST_SHOWN} more")
    return "\n".join(lines)


def waterfall(parts: Sequence[Part]) -> list[str]:
    """A line per step: what it gave, and why. The points add up to the score."""
    lines = []
    for part in parts:
        bar = "█" * min(_BAR, round(abs(part.points) * _BAR))
        lines.append(f"       {part.points:+.2f} {bar.ljust(_BAR)} {clean(part.feature)}: {short(part.said, 90)}")
    return lines


def _head(project: Project, record: Record, left: int | None) -> str:
    told = f"record {record.number:,} of {clean(project.name)} · {record.state.name}"
    if record.decided_by is not None:
        told += f" by {clean(record.decided_by)}"
    return told if left is None else f"{told} · {left:,} to review"


def _candidate(one: Candidate) -> list[str]:
    described = f" – {short(one.description, 70)}" if one.description else ""
    head = f"  [{one.rank}] {one.score:.2f}  {short(one.label, 60)}  {clean(one.entity)}{described}"
    return [head, *waterfall(one.parts)]


class Keys:
    """Keys of a terminal, one at a time, on the event loop: nothing blocks, and Ctrl-C works as everywhere.
    ``key`` waits for one key, ``line`` for a line that is shown while it is typed."""

    def __init__(self, number: int, before: list[Any]) -> None:
        self._number = number
        self._before = before

    async def key(self) -> str:
        """An empty text: the terminal is gone."""
        return (await self._read(1)).decode("utf-8", "replace")

    async def line(self) -> str:
        termios.tcsetattr(self._number, termios.TCSADRAIN, self._before)
        try:
            return (await self._read(8192)).decode("utf-8", "replace").rstrip("\n")
        finally:
            tty.setcbreak(self._number, termios.TCSADRAIN)

    async def _read(self, most: int) -> bytes:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._number, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(self._number)
        return os.read(self._number, most)


@contextmanager
def keys() -> Iterator[Keys]:
    """The terminal is as it was afterwards, whatever happened."""
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    tty.setcbreak(number, termios.TCSADRAIN)
    try:
        yield Keys(number, before)
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
