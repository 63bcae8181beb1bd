"""`penstock articles coverage`, `stats`, `tasks`, `retry-failed`, `clear` and `reindex`: how embedding is doing,
tidying up, and embedding again."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any, cast

import typer

from penstock.core import job_counts
from penstock.core.job_counts import JobCounts
from penstock.extensions.articles import embedding_tasks, generations, reindexing
from penstock.extensions.articles.commands.context import actor_of, moment, opened, room
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.reindexing import Plan, Planned, Scope
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch
from penstock.extensions.articles.statistics import Statistics, breakdown, count_coverage, statistics
from penstock.terminal.command import command
from penstock.terminal.output import Column, duration, shown
from penstock.terminal.pages import LimitOption, YesOption, actor, agreed, show_page
from penstock.terminal.progress import Progress
from penstock.terminal.readable import clean, fields, short
from penstock.terminal.session import Session

GenerationOption = Annotated[
    str | None, typer.Option("--generation", metavar="NAME", help="Of this one instead of the active one.")
]
OwnerOption = Annotated[str | None, typer.Option("--owner", help="Only those of this user.")]
StatusOption = Annotated[
    str | None, typer.Option("--status", help="pending, processing, completed, failed or cancelled.")
]
AfterOption = Annotated[int | None, typer.Option("--after", metavar="TASK", help="Where the page before ended.")]
CategoryOption = Annotated[
    str | None, typer.Option("--category", help="Only transient, configuration, data or resource failures.")
]
DaysOption = Annotated[
    float | None,
    typer.Option("--older-than", metavar="DAYS", min=0, max=36_500, help="PENSTOCK_ARTICLES_KEEP_DAYS unless given."),
]
ScopeOption = Annotated[str, typer.Option("--scope", help="all, missing, stale, outdated (both) or failed.")]
IntoOption = Annotated[
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
    async def coverage(session: Session, generation: GenerationOption = None) -> None:
        """How many articles a search by meaning can find, and what the others wait for."""
        async with session.connection() as connection:
            chosen = await generations.named(connection, generation)
            counted = await count_coverage(connection, chosen)
            parts = await breakdown(connection, chosen)
        share = f" ({counted.indexed / counted.total:.1%})" if counted.total else ""
        text = {
            "articles": shown(counted.total),
            "indexed": f"{counted.indexed:,}{share}, in generation {clean(counted.generation)}",
            "stale": f"{counted.stale:,} found by an older text",
            "pending": f"{counted.pending:,} found by their words only",
            "of these": f"{parts.waiting:,} waiting, {parts.failed:,} failed, {parts.missing:,} not queued",
        }
        if parts.missing:
            text["next"] = "`penstock articles reindex --scope missing` queues those that are not"
        session.out.show(asdict(counted) | asdict(parts), fields(text))

    @command(app)
    async def stats(session: Session) -> None:
        """Embeddings by status, what the workers did, how fresh the index is, and open alerts."""
        from penstock.extensions.articles import alerts

        app = await session.app()
        found = await statistics(app)
        async with app.connection() as connection:
            opened = await alerts.opened(connection)
        told = [
            {"kind": one.kind, "since": one.opened_at, "told_at": one.told_at, "sentence": one.sentence}
            for one in opened
        ]
        text = _described(found) | {f"alert: {one.kind}": clean(one.sentence) for one in opened}
        figures = asdict(found)
        data = {"enabled": found.enabled, **figures.pop("queue"), **figures, "alerts": told}
        session.out.show(data, fields(text))

    @command(app)
    async def tasks(
        session: Session,
        status: StatusOption = None,
        owner: OwnerOption = None,
        limit: LimitOption = 20,
        after: AfterOption = None,
    ) -> None:
        """Embedding tasks, newest first, with what went wrong and what to do."""
        async with session.connection() as connection:
            found = await embedding_tasks.page(connection, owner=owner, status=status, after=after, limit=limit)
        rows = [asdict(one) | {"tries": f"{one.attempts}/{one.max_attempts}"} for one in found]
        following = str(found[-1].task_id) if len(found) == limit else None
        show_page(session, rows, following, _task_columns(session), empty="No embedding tasks here.")
        if not session.out.json:
            for advice in dict.fromkeys(f"{one.category}: {one.advice}" for one in found if one.advice is not None):
                session.out.say(advice)

    @command(app, "retry-failed")
    async def retry_failed(session: Session, category: CategoryOption = None) -> None:
        """Start failed embeddings again; one that a newer version has overtaken ends at once."""
        from penstock.extensions.articles import upkeep

        count = await upkeep.retry_failed(await session.app(), category=category, by=actor())
        session.out.show({"retried": count}, f"{count:,} embeddings start again.")

    @command(app)
    async def clear(session: Session, older_than: DaysOption = None, yes: YesOption = False) -> None:
        """Forget completed embedding tasks. Articles, vectors and failed tasks stay."""
        from penstock.extensions.articles import upkeep

        days = session.settings.of(ArticleSettings).keep_days if older_than is None else older_than
        agreed(session, f"Forget completed embedding tasks that ended more than {days:g} days ago?", yes=yes)
        count = await upkeep.clear_completed(await session.app(), days, by=actor())
        session.out.show({"cleared": count, "older_than_days": days}, f"{count:,} completed embedding tasks are gone.")

    @command(app)
    async def reindex(
        session: Session,
        scope: ScopeOption = "all",
        generation: IntoOption = None,
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


def _task_columns(session: Session) -> tuple[Column, ...]:
    return (
        Column(key="task_id", title="task", right=True, show=str),
        Column(key="slug", title="article", show=lambda value: short(value, room(session, 40)) or "–"),
        Column(key="operation", title="operation"),
        Column(key="generation", title="generation", show=lambda value: short(value, room(session, 20)) or "–"),
        Column(key="status", title="status"),
        Column(key="tries", title="tries", right=True),
        Column(key="priority", title="priority"),
        Column(key="created_at", title="queued"),
        Column(key="error", title="error", show=lambda value: short(value, room(session, 80)) or "–"),
    )


def _described(found: Statistics) -> dict[str, str]:
    queue, worker, fresh = found.queue, found.worker, found.freshness
    text = {
        "embeddings": f"{queue.total:,}",
        "pending": shown(queue.pending),
        "processing": shown(queue.processing),
        "completed": shown(queue.completed),
        "failed": shown(queue.failed),
        "cancelled": shown(queue.cancelled),
        "worker": f"{'running' if worker.running else 'none is running'}, last heartbeat {shown(worker.heartbeat_at)}",
        "last 24 hours": f"{worker.processed:,} ended, {worker.failed:,} of them failed",
        "mean time": "–" if worker.average_ms is None else f"{worker.average_ms:,.0f} ms",
        "last ended": shown(worker.last_processed_at),
    }
    if fresh.measured:
        text["fresh after"] = (
            f"{fresh.p50_ms:,.0f} ms (p50), {fresh.p95_ms:,.0f} ms (p95), of {fresh.measured:,} articles"
        )
    if not found.enabled:
        text["switched off"] = "PENSTOCK_ARTICLES_ENABLED is false: articles are embedded while they are saved"
    return text


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
