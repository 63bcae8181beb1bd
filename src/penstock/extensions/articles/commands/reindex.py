"""`penstock articles reindex`: embed many articles again, as a job."""

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import typer

from penstock.core import job_counts
from penstock.core.job_counts import JobCounts
from penstock.errors import UsageError
from penstock.extensions.articles import generations, reindexing
from penstock.extensions.articles.commands.context import actor_of, opened
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.reindexing import Plan, Planned, Scope
from penstock.extensions.articles.shared import ArticleSearch
from penstock.terminal.command import command
from penstock.terminal.output import duration
from penstock.terminal.progress import Progress
from penstock.terminal.session import Session

ScopeOption = Annotated[str, typer.Option("--scope", help="all, missing, stale, outdated (both) or failed.")]
GenerationOption = Annotated[
    str | None, typer.Option("--generation", metavar="NAME|ID", help="Into this one; otherwise the active one.")
]
AuthorOption = Annotated[str | None, typer.Option("--author", metavar="USER", help="Only articles of this user.")]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Changed then or later (ISO, UTC).")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Changed before (ISO, UTC).")]
ForceOption = Annotated[bool, typer.Option("--force", help="Embed also texts that did not change.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Say what it would be; queue nothing.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until every article has ended.")]
ByOption = Annotated[str | None, typer.Option("--owner", help="The user whose job it will be; otherwise your login.")]
_LOOK_SECONDS = 0.5
_SPEED_SECONDS = 10.0


def register(app: typer.Typer) -> None:
    @command(app)
    async def reindex(
        session: Session,
        scope: ScopeOption = "all",
        generation: GenerationOption = None,
        author: AuthorOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        force: ForceOption = False,
        dry_run: DryOption = False,
        wait: WaitOption = False,
        owner: ByOption = None,
    ) -> int:
        """Embed articles again, as a job of low priority: `penstock jobs pause`, `resume` and `cancel` steer it."""
        async with opened(session) as search:
            async with search.app.connection() as connection:
                into = await generations.named(connection, generation)
            wish = reindexing.Plan(
                scope=cast("Scope", scope),
                generation=into.id,
                author=author,
                since=moment("--since", since),
                until=moment("--until", until),
                force=force,
            )
            if dry_run:
                async with search.app.connection() as connection:
                    _show_plan(session, await reindexing.plan(connection, wish))
                return 0
            return await _start(session, search, wish, into, wait=wait, by=actor_of(owner))


def moment(option: str, text: str | None) -> datetime | None:
    """A day or a time; without a zone it is UTC, as everything that is stored."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is no time. Write 2026-05-01 or 2026-05-01T12:00:00+02:00.") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


async def _start(session: Session, search: ArticleSearch, wish: Plan, into: Generation, *, wait: bool, by: str) -> int:
    job_id = await reindexing.start(search, wish, by)
    if job_id is None:
        session.out.show(
            {"job_id": None, "articles": 0}, f"Nothing to do: no article is {wish.scope} in {into.name!r}."
        )
        return 0
    if wait:
        return await finish(session, search, job_id, into)
    counts = await search.app.job_by_id(job_id).counts()
    told = f"{counts.total:,} articles are queued as job {job_id}. `penstock jobs show {job_id}` shows it."
    session.out.show({"job_id": job_id, "articles": counts.total}, told)
    return 0


class ReindexLine(Progress):
    """``12,481/48,213 26 % 212/s ETA 2m48s · 1,902 chunks/s``"""

    chunks_per_second: float | None = None
    state: str = ""

    def line(self, done: int, failed: int = 0) -> str:
        parts = [super().line(done, failed)]
        parts += [] if not self.chunks_per_second else [f"{self.chunks_per_second:,.0f} chunks/s"]
        return " · ".join([*parts, *([self.state] if self.state else [])])


async def finish(session: Session, search: ArticleSearch, job_id: int, into: Generation) -> int:
    """Wait for the job and tell how it went. 1: an article could not be embedded, or somebody cancelled it."""
    begun = asyncio.get_running_loop().time()
    session.out.say(f"Job {job_id} runs; `penstock jobs pause {job_id}` holds it, Ctrl-C only ends this wait.")
    counts = await _until_ended(session, search, job_id, into)
    took = max(asyncio.get_running_loop().time() - begun, 0.001)
    data: dict[str, Any] = {
        "job_id": job_id,
        "articles": counts.total,
        "done": counts.done,
        "skipped": counts.skipped,
        "failed": counts.error,
        "cancelled": counts.cancelled,
        "seconds": round(took, 3),
        "articles_per_second": round(counts.finished / took, 1),
    }
    told = f"Job {job_id}: {counts.done:,} articles done, {counts.skipped:,} skipped, {counts.error:,} failed"
    session.out.show(data, f"{told} in {duration(took)}.")
    return 1 if counts.error or counts.cancelled else 0


async def _until_ended(session: Session, search: ArticleSearch, job_id: int, into: Generation) -> JobCounts:
    line = ReindexLine(session.out.stderr, None, quiet=session.out.quiet)
    try:
        while True:
            async with search.app.connection() as connection:
                state, counts = await job_counts.read(connection, job_id)
                chunks = await reindexing.embedded_lately(connection, into.id, _SPEED_SECONDS)
            line.chunks_per_second = chunks / _SPEED_SECONDS
            line.state = "paused" if state.name == "PAUSED" else ""
            if counts.finished >= counts.total:
                line.total = counts.total
                line.end(counts.finished, failed=counts.error)
                return counts
            line.update(counts.finished, failed=counts.error, total=counts.total)
            await asyncio.sleep(_LOOK_SECONDS)
    except asyncio.CancelledError:
        line.detach()
        session.out.say(f"Not waiting any more; job {job_id} goes on. `penstock jobs show {job_id}` shows it.")
        raise


def _show_plan(session: Session, planned: Planned) -> None:
    if planned.seconds_estimated is None:
        time = "how long it takes is not known: too little was embedded lately"
    else:
        time = f"about {duration(planned.seconds_estimated)} at {planned.chunks_per_second:,.0f} chunks/s"
    text = f"{planned.articles:,} articles, about {planned.chunks_estimated:,} chunks; {time}. Nothing was queued."
    session.out.show(asdict(planned), text)
