"""`penstock articles coverage`, `stats`, `tasks`, `retry-failed`, `clear`: how embedding is doing, and tidying up."""

from dataclasses import asdict
from typing import Annotated

import typer

from penstock.extensions.articles import embedding_tasks, generations
from penstock.extensions.articles.commands.context import room
from penstock.extensions.articles.coverage import breakdown, count
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.statistics import Statistics, statistics
from penstock.terminal.command import command
from penstock.terminal.output import Column, shown
from penstock.terminal.pages import LimitOption, YesOption, actor, agreed, show_page
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


def register(app: typer.Typer) -> None:
    @command(app)
    async def coverage(session: Session, generation: GenerationOption = None) -> None:
        """How many articles a search by meaning can find, and what the others wait for."""
        async with session.connection() as connection:
            chosen = await generations.named(connection, generation)
            counted = await count(connection, chosen)
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
