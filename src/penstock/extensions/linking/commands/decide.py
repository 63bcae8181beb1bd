"""`penstock link accept` and `penstock link undo`"""

from dataclasses import asdict
from functools import partial
from typing import Annotated
from uuid import UUID

import typer

from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.extensions.linking import review
from penstock.extensions.linking.candidates import Candidate
from penstock.extensions.linking.commands.ground import ProjectArgument, opened, project_of
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.record import Record
from penstock.extensions.linking.review import BulkAccept
from penstock.terminal.command import command
from penstock.terminal.pages import YesOption, confirmed
from penstock.terminal.readable import short
from penstock.terminal.session import Session

ScoreOption = Annotated[float, typer.Option("--min-score", help="0 to 1: from this score on.")]
GapOption = Annotated[
    float | None,
    typer.Option(
        "--min-gap", help="0 to 1: and so far ahead of the second candidate; without it, what the project accepts from."
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what it would be.")]
BatchOption = Annotated[str | None, typer.Option("--batch", help="Everything one call decided, as it said.")]
RecordOption = Annotated[
    int | None,
    typer.Option("--record", min=1, metavar="NUMBER", help="The last decision about this record, if it is yours."),
]
_WIDTH = 40


def register(app: typer.Typer) -> None:
    @command(app)
    async def accept(
        session: Session,
        project: ProjectArgument,
        min_score: ScoreOption,
        min_gap: GapOption = None,
        dry_run: DryRunOption = False,
        yes: YesOption = False,
    ) -> None:
        """Accept everything that waits for review and is that sure. Try it with --dry-run first."""
        from penstock.extensions.linking.wire import AcceptedManyBody

        async with opened(session) as linking:
            found = await project_of(linking, project)
            accepting = partial(
                review.accept_above, linking, project, By.command_line(), min_score=min_score, min_gap=min_gap
            )
            done = await accepting(dry_run=True)
            if not dry_run and done.accepted:
                confirmed(session, _question(project, min_score, done), yes=yes)
                done = await accepting()
        data = AcceptedManyBody.model_validate(done).model_dump() | {"dry_run": dry_run}
        session.out.show(data, lambda: _described(found, done, dry_run=dry_run))

    @command(app)
    async def undo(
        session: Session, project: ProjectArgument, batch: BatchOption = None, record: RecordOption = None
    ) -> None:
        """Take a decision back: a whole batch, or your last one about a record; what was changed since is left."""
        async with opened(session) as linking:
            await project_of(linking, project)
            done = await review.undo(linking, project, By.command_line(), batch=_uuid(batch), number=record)
        left = done.changed_since
        more = f" {left:,} were changed since, and are left." if left else ""
        session.out.show(
            {"project_id": project, **asdict(done)},
            f"{done.undone:,} {'decision was' if done.undone == 1 else 'decisions were'} undone.{more}",
        )


def _uuid(text: str | None) -> UUID | None:
    try:
        return None if text is None else UUID(text)
    except ValueError:
        raise UsageError(f"--batch {text!r} is none. Use what `link accept` printed.") from None


def _question(project: int, min_score: float, done: BulkAccept) -> str:
    return (
        f"Accept {done.accepted:,} of {done.waiting:,} records of project {project} from {min_score:g} on, "
        f"{done.min_gap:g} ahead of the second?"
    )


def _described(project: Project, done: BulkAccept, *, dry_run: bool) -> str:
    verb = "would be" if dry_run else "were"
    told = f"{done.accepted:,} of {done.waiting:,} records that wait for review {verb} accepted"
    lines = [f"{told}, {done.min_gap:g} ahead of the second."]
    if done.histogram:
        lines += ["", *histogram(done)]
    if done.examples:
        lines += ["", "nearest to the threshold:"]
        lines += [f"  {_example(project, one, done.runners_up.get(one.number))}" for one in done.examples]
    if done.batch is not None:
        lines += ["", f"undo: penstock link undo {project.id} --batch {done.batch}"]
    return "\n".join(lines)


def histogram(done: BulkAccept) -> list[str]:
    """█ would be taken, ░ stays."""
    most = max(step.waiting for step in done.histogram)
    lines = []
    for step in done.histogram:
        taken = -(-step.taken * _WIDTH // most)
        rest = max(0, -(-step.waiting * _WIDTH // most) - taken)
        span = f"{step.from_score:.2f}-{step.to_score:.2f}"
        lines.append(f"  {span}  {'█' * taken}{'░' * rest} {step.taken:,}/{step.waiting:,}")
    return lines


def _example(project: Project, record: Record, second: Candidate | None) -> str:
    name = next((record.cells.get(column) for column, role in project.roles.items() if role.role == "name"), None)
    behind = "the only one"
    if second is not None:
        behind = f"{record.gap or 0:.2f} ahead of {short(second.label, 40)} ({short(second.entity, 20)})"
    return (
        f"{record.score or 0:.2f}  record {record.number:,}  {short(name, 40)}  →  {short(record.label, 40)} "
        f"({short(record.entity, 20)}), {behind}"
    )
