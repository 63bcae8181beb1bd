"""`penstock link match`, `cancel` and `rerank`"""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from penstock.cli.command import command
from penstock.cli.link_ground import ProjectArgument, actor, noted, opened, project_of, source_ready
from penstock.cli.progress import Progress, duration
from penstock.cli.session import Session
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.apps.record_linking import progress
    from penstock.apps.record_linking.matching import Scope
    from penstock.apps.record_linking.shared import RecordLinking

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


class RunLine(Progress):
    """``1,204/10,000 records 12 % · 4.9 requests/s · ETA 2m48s · limited to 5 requests a second by the source``"""

    found: "progress.Progress | None" = None

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
        from penstock.apps.record_linking import matching

        async with opened(session) as linking:
            found = await project_of(linking, project)
            if now:
                count = await matching.hasten(linking, project, by=actor())
                told = f"{count:,} requests of project {project} are tried now. `penstock link status {project}`"
                session.out.show({"project_id": project, "tried": count}, told)
                return 0
            with source_ready():
                started = await matching.start(linking, project, cast("Scope", scope), by=actor())
            await noted(linking, "match", found, scope=scope, records=started.records)
            data: dict[str, Any] = {
                "project_id": project,
                "job_id": started.job_id,
                "records": started.records,
                "queries": started.queries,
            }
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
        from penstock.apps.record_linking import matching

        async with opened(session) as linking:
            found = await project_of(linking, project)
            count = await matching.cancel(linking, project, by=actor())
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
        from penstock.apps.record_linking import ranking

        async with opened(session) as linking:
            found = await project_of(linking, project)
            options: dict[str, Any] = {"accept_score": accept_score, "accept_gap": accept_gap}
            if weight:
                options["weights"] = weights_of(found.options.get("weights") or {}, weight)
            given = {key: value for key, value in options.items() if value is not None}
            done = await ranking.rerank(linking, project, by=actor(), options=given or None)
            await noted(linking, "rerank", found, records=done.records)
            if wait and done.job_id is not None:
                await linking.app.job_by_id(done.job_id).wait(None)
        how = "were" if wait else "are being"
        told = f"{done.records:,} records of project {project} {how} ranked again. `penstock link status {project}`"
        data = {"project_id": project, "job_id": done.job_id, "records": done.records}
        session.out.show(
            {**data, "left": done.left, "notice": done.notice},
            told if done.notice is None else f"{told}\n{done.notice}",
        )


def weights_of(stored: dict[str, Any], given: list[str]) -> dict[str, Any]:
    """Over those that the project has; a name that is no feature is a property."""
    from dataclasses import fields

    from penstock.apps.record_linking.scoring.weights import Weights

    known = {one.name for one in fields(Weights)} - {"properties"}
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


async def _until_ended(session: Session, linking: "RecordLinking", project: int) -> "progress.Progress":
    """Ctrl-C ends the waiting, never the work."""
    from penstock.apps.record_linking import progress
    from penstock.apps.record_linking.states import RecordState

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


def _tell_end(session: Session, project: int, data: dict[str, Any], ended: "progress.Progress") -> int:
    counts = {state.name: count for state, count in ended.counts.items()}
    failed = counts["ERROR"]
    lines = [", ".join(f"{count:,} {name}" for name, count in counts.items() if count)]
    if counts["REVIEW"]:
        lines.append(f"next: penstock link review {project}")
    if failed:
        from penstock.cli.link_status import failed as why

        lines.append(f"failed: {why(ended)}")
        lines.append(f"next: penstock link match {project} --scope failed --wait")
    session.out.show({**data, "counts": counts}, "\n".join(lines))
    return 1 if failed else 0
