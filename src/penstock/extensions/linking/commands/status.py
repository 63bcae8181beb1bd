"""`penstock link status` and `penstock link list`"""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer

from penstock.extensions.linking import progress, projects
from penstock.extensions.linking.commands.ground import ProjectArgument, opened, project_of
from penstock.extensions.linking.progress import Progress
from penstock.extensions.linking.project import Options, Project
from penstock.extensions.linking.states import RecordState
from penstock.insight.task_views import Place
from penstock.terminal.command import command
from penstock.terminal.output import Column, duration, shown
from penstock.terminal.pages import AfterOption, LimitOption, place_of, show_page, written
from penstock.terminal.readable import clean, fields, short
from penstock.terminal.session import Session

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


def register(app: typer.Typer) -> None:
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


def _data(project: Project) -> dict[str, Any]:
    return {"project_id": project.id, **{name: getattr(project, name) for name in _SHOWN}}


def _status_data(project: Project, options: Options, seen: Progress) -> dict[str, Any]:
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


def _described(project: Project, options: Options, seen: Progress) -> str:
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
    if told := failed(seen):
        pairs["failed"] = told
    if (following := _next(project, seen)) is not None:
        pairs["next"] = following
    return fields(pairs)


def failed(seen: Progress) -> str:
    """Why, the most frequent reasons first."""
    return "; ".join(f"{one.count:,} × {short(one.reason, 400)}" for one in seen.failures)


def _next(project: Project, seen: Progress) -> str | None:

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
