"""`penstock link match`, `cancel`, `rerank`, `status` and `list`"""

import asyncio
from dataclasses import asdict
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Annotated, Any, cast

import typer

from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.extensions.linking import matching, progress, projects
from penstock.extensions.linking.commands.ground import ProjectArgument, noted, opened, project_of
from penstock.extensions.linking.matching import Scope
from penstock.extensions.linking.project import Options, Project
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.sources.source import SourceMisconfigured
from penstock.insight.task_views import Place
from penstock.terminal.command import command
from penstock.terminal.errors import Refused
from penstock.terminal.output import Column, duration, shown
from penstock.terminal.pages import AfterOption, LimitOption, place_of, show_page, written
from penstock.terminal.progress import Progress
from penstock.terminal.readable import clean, fields, short
from penstock.terminal.session import Session

ScopeOption = Annotated[
    str,
    typer.Option(
        "--scope",
        help="new: never matched, or cancelled. unmatched: without a candidate. changed: roles or options changed what "
        "is asked. failed. all. What a person decided is always left.",
    ),
]
NowOption = Annotated[
    bool, typer.Option("--now", help="Start nothing anew: what failed and waits for its next try is tried at once.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until the run has ended, with its progress.")]
WeightOption = Annotated[
    list[str] | None,
    typer.Option("--weight", metavar="FEATURE=NUMBER", help="Such as name=5 or P569=4; may be repeated."),
]
ScoreOption = Annotated[
    float | None, typer.Option("--accept-score", help="0 to 1: accepted by itself from this score on.")
]
GapOption = Annotated[float | None, typer.Option("--accept-gap", help="0 to 1: how far the second must be behind.")]
_LOOK_SECONDS = 0.5
OwnerOption = Annotated[str | None, typer.Option("--owner", help="Only those of this user.")]
_PROJECTS = (
    Column(key="project_id", title="project", right=True, show=str),
    Column(key="name", title="name", show=lambda value: short(value, 40)),
    Column(key="owner", title="owner", show=clean),
    Column(key="source", title="source"),
    Column(key="running", title="running"),
    Column(key="updated_at", title="changed"),
)
_SHOWN = ("name", "owner", "source", "running", "job_id", "started_at", "ended_at", "created_at", "updated_at")


class RunLine(Progress):
    """``1,204/10,000 records 12 % · 4.9 requests/s · ETA 2m48s · limited to 5 requests a second by the source``"""

    found: progress.Progress | None = None

    def line(self, done: int, failed: int = 0) -> str:
        found = self.found
        share = 100 if not self.total else int(100 * done / self.total)
        parts = [f"{done:,}/{self.total or 0:,} records {share} %"]
        if found is not None and found.running:
            parts.append(f"{found.per_second:.1f} requests/s")
            if found.eta_seconds is not None:
                parts.append(f"ETA {duration(found.eta_seconds)}")
            if found.cause is not None:
                parts.append(found.cause)
        return " · ".join(parts) + (f" · {failed:,} failed" if failed else "")


def register(app: typer.Typer) -> None:
    @command(app)
    async def match(
        session: Session,
        project: ProjectArgument,
        scope: ScopeOption = "new",
        wait: WaitOption = False,
        now: NowOption = False,
    ) -> int:
        """Look for the records of a project: one search per distinct name. Workers do it; `penstock up` has some."""
        async with opened(session) as linking:
            found = await project_of(linking, project)
            if now:
                count = await matching.hasten(linking, project, by=By.command_line().actor)
                told = f"{count:,} requests of project {project} are tried now. `penstock link status {project}`"
                session.out.show({"project_id": project, "tried": count}, told)
                return 0
            try:
                started = await matching.start(linking, project, cast("Scope", scope), by=By.command_line().actor)
            except SourceMisconfigured as error:
                raise Refused(str(error), next_command="penstock link sample-source --help") from None
            await noted(linking, "match", found, scope=scope, records=started.records)
            data = {"project_id": project, **asdict(started)}
            told = f"{started.records:,} records of project {project} are matched by {started.queries:,} searches."
            if not started.records:
                told = f"Project {project} has no records of the scope {scope!r}; nothing was started."
            if not wait or started.job_id is None:
                session.out.show(data, f"{told} `penstock link status {project}`" if started.job_id else told)
                return 0
            session.out.say(told)
            ended = await _until_ended(session, linking, project)
        return _tell_end(session, project, data, ended)

    @command(app)
    async def cancel(session: Session, project: ProjectArgument) -> None:
        """Stop the run of a project: records that have not ended are CANCELLED, and `match` takes them again."""
        async with opened(session) as linking:
            found = await project_of(linking, project)
            count = await matching.cancel(linking, project, by=By.command_line().actor)
            await noted(linking, "cancel", found, records=count)
        told = (
            f"{count:,} records of project {project} were cancelled. `penstock link match {project}` takes them again."
        )
        session.out.show(
            {"project_id": project, "cancelled": count}, told if count else f"Project {project} was at rest."
        )

    @command(app)
    async def rerank(
        session: Session,
        project: ProjectArgument,
        weight: WeightOption = None,
        accept_score: ScoreOption = None,
        accept_gap: GapOption = None,
        wait: WaitOption = False,
    ) -> None:
        """Score all records that no person decided again, with other weights. Asks the source nothing."""
        async with opened(session) as linking:
            found = await project_of(linking, project)
            options: dict[str, Any] = {"accept_score": accept_score, "accept_gap": accept_gap}
            if weight:
                options["weights"] = weights_of(found.options.get("weights") or {}, weight)
            given = {key: value for key, value in options.items() if value is not None}
            done = await matching.rerank(linking, project, by=By.command_line().actor, options=given or None)
            await noted(linking, "rerank", found, records=done.records)
            if wait and done.job_id is not None:
                await linking.app.job_by_id(done.job_id).wait(None)
        how = "were" if wait else "are being"
        told = f"{done.records:,} records of project {project} {how} ranked again. `penstock link status {project}`"
        data = {"project_id": project, **asdict(done)}
        session.out.show(data, told if done.notice is None else f"{told}\n{done.notice}")

    @command(app)
    async def status(session: Session, project: ProjectArgument) -> None:
        """How far a project is: records by state, pace, ETA and what holds it up."""
        async with opened(session) as linking:
            found = await project_of(linking, project)
            seen = await progress.read(linking, project)
            options = linking.options_of(found)
        session.out.show(_status_data(found, options, seen), lambda: _described(found, options, seen))

    @command(app, "list")
    async def listing(
        session: Session, owner: OwnerOption = None, limit: LimitOption = 20, after: AfterOption = None
    ) -> None:
        """All projects, the newest change first."""
        place = place_of(after)
        behind: tuple[datetime, int] | None = None
        if place is not None and place.at is not None:
            behind = (place.at, place.task_id)
        async with session.connection() as connection:
            found = await projects.page(connection, owner=owner, after=behind, limit=limit + 1)
        page = found[:limit]
        last = page[-1] if len(found) > limit else None
        following = None if last is None else written(Place(task_id=last.id, at=last.updated_at))
        empty = "No projects yet. `penstock link import FILE` makes one; `link sample-file` has a dataset to try."
        show_page(session, [_data(one) for one in page], following, _PROJECTS, empty=empty)


def weights_of(stored: dict[str, Any], given: list[str]) -> dict[str, Any]:
    """Over those that the project has; a name that is no feature is a property."""
    known = {one.name for one in fields_of(Weights)} - {"properties"}
    weights = {**stored, "properties": dict(stored.get("properties") or {})}
    for text in given:
        feature, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not feature or value < 0:
            raise UsageError(f"--weight {text!r} is no FEATURE=NUMBER. Write it as name=5 or P569=4.")
        (weights if feature in known else weights["properties"])[feature] = value
    return weights


async def _until_ended(session: Session, linking: RecordLinking, project: int) -> progress.Progress:
    """Ctrl-C ends the waiting, never the work."""
    line = RunLine(session.out.stderr, None, quiet=session.out.quiet)
    try:
        while True:
            found = line.found = await progress.read(linking, project)
            failed = found.counts[RecordState.ERROR]
            if not found.running:
                line.total = found.total
                line.end(found.ended, failed=failed)
                return found
            line.update(found.ended, failed=failed, total=found.total)
            await asyncio.sleep(_LOOK_SECONDS)
    except asyncio.CancelledError:
        line.detach()
        session.out.say(f"Not waiting any more; the run goes on. `penstock link status {project}` shows it.")
        raise


def _tell_end(session: Session, project: int, data: dict[str, Any], ended: progress.Progress) -> int:
    counts = {state.name: count for state, count in ended.counts.items()}
    failed = counts["ERROR"]
    lines = [", ".join(f"{count:,} {name}" for name, count in counts.items() if count)]
    if counts["REVIEW"]:
        lines.append(f"next: penstock link review {project}")
    if failed:
        lines.append(f"failed: {_reasons(ended)}")
        lines.append(f"next: penstock link match {project} --scope failed --wait")
    session.out.show({**data, "counts": counts}, "\n".join(lines))
    return 1 if failed else 0


def _data(project: Project) -> dict[str, Any]:
    return {"project_id": project.id, **{name: getattr(project, name) for name in _SHOWN}}


def _status_data(project: Project, options: Options, seen: progress.Progress) -> dict[str, Any]:
    return {
        "project_id": project.id,
        **asdict(seen),
        **_data(project),
        "roles": {column: role.stored() for column, role in project.roles.items()},
        "languages": list(options.languages),
        "accept_score": options.accept_score,
        "accept_gap": options.accept_gap,
        "counts": {state.name: count for state, count in seen.counts.items()},
        "total": seen.total,
        "ended": seen.ended,
    }


def _described(project: Project, options: Options, seen: progress.Progress) -> str:
    pairs = {
        "project": f"{project.id} {clean(project.name)}, of {clean(project.owner)}, against {project.source}",
        "records": f"{seen.ended:,}/{seen.total:,} at rest",
    }
    for state, count in seen.counts.items():
        if count:
            pairs[f"  {state.name}"] = f"{count:,}"
    pairs["accepted from"] = f"{options.accept_score:g}, {options.accept_gap:g} ahead of the second"
    if seen.running:
        pairs["requests"] = f"{seen.requests_done:,} done, {seen.requests_left:,} left that are known by now"
        pairs["pace"] = f"{seen.per_second:.1f} requests/s, ETA {duration(seen.eta_seconds)}"
        pairs["held up by"] = seen.cause or "nothing"
    elif project.ended_at is not None:
        pairs["last run"] = f"ended {shown(project.ended_at)}"
    if told := _reasons(seen):
        pairs["failed"] = told
    if (following := _next(project, seen)) is not None:
        pairs["next"] = following
    return fields(pairs)


def _reasons(seen: progress.Progress) -> str:
    """Why, the most frequent reasons first."""
    return "; ".join(f"{one.count:,} × {short(one.reason, 400)}" for one in seen.failures)


def _next(project: Project, seen: progress.Progress) -> str | None:
    if seen.running and seen.cause is not None and "again, the next" in seen.cause:
        return f"once the source is back, `penstock link match {project.id} --now` tries at once"
    if seen.running:
        return f"`penstock link cancel {project.id}` stops it"
    for state, text in (
        (RecordState.NEW, f"`penstock link match {project.id} --wait`"),
        (RecordState.CANCELLED, f"`penstock link match {project.id} --wait`"),
        (RecordState.ERROR, f"`penstock link match {project.id} --scope failed --wait`"),
        (RecordState.REVIEW, f"`penstock link review {project.id}`"),
    ):
        if seen.counts[state]:
            return text
    return f"`penstock link export {project.id} -O matched.csv`"
