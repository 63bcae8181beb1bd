"""`penstock link review`: record after record in the terminal, or a table."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from penstock.cli.command import command
from penstock.cli.link_ground import ProjectArgument, opened, project_of
from penstock.cli.output import Column
from penstock.cli.pages import LimitOption, on_terminal, show_page
from penstock.cli.readable import clean, short
from penstock.cli.session import Session
from penstock.errors import IllegalMove, InvalidSetting, UsageError

if TYPE_CHECKING:
    from penstock.apps.record_linking.project import Project
    from penstock.apps.record_linking.record import Candidate, Record
    from penstock.apps.record_linking.shared import RecordLinking
    from penstock.cli.link_keys import Keys

StatusOption = Annotated[
    str, typer.Option("--status", help="Which records: REVIEW, ACCEPTED, REJECTED, NO_CANDIDATE, ERROR … or all.")
]
RecordOption = Annotated[int | None, typer.Option("--record", min=1, metavar="NUMBER", help="Show only this one.")]
AfterOption = Annotated[int, typer.Option("--after", min=0, metavar="NUMBER", help="Begin behind this record.")]
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
                from penstock.cli.link_keys import keys

                with keys() as read:
                    await Review(session, linking, found, read, status=status, last=after).run()
            else:
                await _table(session, linking, found, status, limit, after)


@dataclass
class Review:
    """A sitting. ``done``: what was decided in it, for undo."""

    session: Session
    linking: "RecordLinking"
    project: "Project"
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

    async def _next(self) -> "tuple[Record, list[Candidate]] | None":
        from penstock.apps.record_linking import candidates, records
        from penstock.cli.link_screen import KEYS, screen

        async with self.linking.app.connection() as connection:
            states = states_of(self.status)
            page = await records.page(connection, self.project.id, states=states, after=self.last, limit=1)
            if not page:
                return None
            found = await candidates.of_record(connection, page[0].id)
            counts = await records.counts(connection, self.project.id)
        left = sum(counts[one] for one in states or counts)
        self._say(f"\n{screen(self.project, page[0], found, left=left)}\n\n{KEYS}")
        return page[0], found

    async def _decide(self, record: "Record", found: "list[Candidate]") -> bool:
        """False: the reviewer has had enough. Whatever leaves ``last`` as it is shows the record again."""
        from penstock.apps.record_linking import review
        from penstock.apps.record_linking.review import Seen
        from penstock.engine.acting import By

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
                    done = await review.reject(self.linking, self.project.id, record.number, by, seen=seen)
                    self._moved(done.batch, record, "rejected")
                case sign if sign.isdigit() and 0 < int(sign) <= min(len(found), 7):
                    entity = found[int(sign) - 1].entity
                    done = await review.accept(
                        self.linking, self.project.id, record.number, by, entity=entity, seen=seen
                    )
                    self._moved(done.batch, record, f"accepted as {entity}")
                case _:
                    self._say("No such key here.")
        except (IllegalMove, UsageError) as error:
            self._say(clean(str(error)))
            self.last = record.number
        return True

    def _moved(self, batch: UUID | None, record: "Record", how: str) -> None:
        if batch is not None:
            self.done.append((batch, record.number))
            self.decided += 1
        self.last = record.number
        self._say(f"→ record {record.number:,} {clean(how)}")

    async def _undo(self, by: Any) -> None:
        from penstock.apps.record_linking import review

        if not self.done:
            self._say("Nothing was decided in this sitting. `penstock link undo` goes further back.")
            return
        batch, number = self.done.pop()
        await review.undo(self.linking, self.project.id, by, batch=batch)
        self.decided -= 1
        self.last = number - 1
        self._say(f"→ record {number:,} is as it was")

    async def _note(self, record: "Record", by: Any) -> None:
        from penstock.apps.record_linking import review

        self.session.out.stdout.write("note: ")
        self.session.out.stdout.flush()
        text = await self.keys.line()
        await review.set_note(self.linking, self.project.id, record.number, text, by)

    def _say(self, text: str) -> None:
        self.session.out.stdout.write(text + "\n")
        self.session.out.stdout.flush()


def states_of(text: str) -> Any:
    """None: all of them."""
    from penstock.apps.record_linking.states import RecordState

    if text.lower() == "all":
        return None
    try:
        return [RecordState[one.strip().upper().replace("-", "_")] for one in text.split(",")]
    except KeyError:
        known = ", ".join(one.name for one in RecordState)
        raise InvalidSetting("--status", text, f"use some of {known}, with commas between, or all") from None


async def _show_one(session: Session, linking: "RecordLinking", project: "Project", number: int) -> None:
    from penstock.apps.record_linking import candidates, records, review
    from penstock.apps.record_linking.shapes import decision_body, record_detail
    from penstock.cli.link_screen import screen

    async with linking.app.connection() as connection:
        record = await records.require(connection, project.id, number)
        found = await candidates.of_record(connection, record.id)
    told = await review.history(linking, project.id, number)
    data = record_detail(record, found).model_dump() | {"history": [decision_body(one).model_dump() for one in told]}
    lines = [
        f"  {one.at:%Y-%m-%d %H:%M:%S} {one.move} by {clean(one.by)}: {one.from_state.name} → {one.to_state.name}"
        f"{' (undone)' if one.undone_at else ''}"
        for one in told
    ]
    session.out.show(data, "\n".join([screen(project, record, found), *(["", "history"] if lines else []), *lines]))


async def _table(
    session: Session, linking: "RecordLinking", project: "Project", status: str, limit: int, after: int
) -> None:
    from penstock.apps.record_linking import candidates, records
    from penstock.apps.record_linking.shapes import candidate_body, record_fields

    async with linking.app.connection() as connection:
        page = await records.page(connection, project.id, states=states_of(status), after=after, limit=limit + 1)
        shown = page[:limit]
        found = await candidates.of_records(connection, [one.id for one in shown], most=7)
    name = next((column for column, role in project.roles.items() if role.role == "name"), "")
    rows = []
    for one in shown:
        row: dict[str, Any] = {**record_fields(one), "name": one.cells.get(name)}
        row["candidates"] = [candidate_body(each).model_dump() for each in found[one.id]]
        row["why"] = row["note"] or row["error"]
        rows.append(row)
    following = str(shown[-1].number) if len(page) > limit else None
    show_page(session, rows, following, _RECORDS, empty=f"Project {project.id} has no records in {status}.")
