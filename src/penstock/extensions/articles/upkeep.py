"""Keeps article search tidy: clears completed embeddings, removes what is left of deleted articles, starts failed ones
again, and looks for trouble."""

from typing import Any

from penstock import Penstock
from penstock.control import clearing, dead_letters
from penstock.control.dead_letters import DeadLetterFilter
from penstock.extensions.articles import alerts, ann, generations
from penstock.extensions.articles.errors import Category, category_of_stored, chosen
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.indexing import storing
from penstock.extensions.articles.names import KEEP_INDEXES, PIPELINE, WATCH
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch
from penstock.lifecycle import State
from penstock.storage.queries import load

_sql = load("upkeep", "penstock.extensions.articles")
Connection = Any

_BATCH = 500
_MARKS = 5_000
# What the schedules of every minute came to, for whoever looks why.
_SCHEDULED_DAYS = 1 / 24
_COMPLETED = (State.DONE, State.NOT_FOUND, State.SKIPPED, State.CANCELLED)
_UPKEEP = "upkeep"


def install_upkeep(app: Penstock, search: ArticleSearch) -> None:
    """Three schedules. What fires while an earlier one still waits is left out."""
    assert search.app is app, "both belong to one application"

    @app.task(name="articles.cleanup", internal=True)
    async def clean_up() -> dict[str, int]:
        cleared = await clear_completed(app, app.settings.of(ArticleSettings).keep_days, by=_UPKEEP)
        looks = await clear_looks(app)
        return {"cleared": cleared, "looks": looks, "leftovers": await remove_leftovers(app)}

    @app.task(name=WATCH, internal=True)
    async def watch() -> list[str]:
        return [f"{told.kind} {told.state}" for told in await alerts.watch(app)]

    @app.task(name=KEEP_INDEXES, internal=True)
    async def ensure_indexes() -> int:
        async with app.connection() as connection:
            live = await generations.live(connection)
        return sum([await ann.ensure_index(app, generation) for generation in live])

    cron = cleanup_cron(app.settings.of(ArticleSettings).cleanup_hours)
    for times, task in ((cron, clean_up), ("* * * * *", watch), ("* * * * *", ensure_indexes)):
        app.schedule(times, task, name=task.name, options={"unique_key": task.name})


def cleanup_cron(hours: float) -> str:
    """A cron expression that fires about every so many hours, and never less often than the next one that cron knows:
    minutes of an hour, hours of a day, days of a month."""
    minutes = round(hours * 60)
    if minutes < 60:
        return f"*/{minutes} * * * *"
    if (whole := minutes // 60) < 24:
        return f"23 */{whole} * * *"
    if (days := whole // 24) <= 28:
        return "23 4 * * *" if days == 1 else f"23 4 */{days} * *"
    return f"23 4 1 */{min(days // 28, 12)} *"


async def clear_completed(app: Penstock, older_than_days: float, *, by: str) -> int:
    """Forget what is done, was not needed or was cancelled, and ended so long ago. Failures stay for people to see,
    until the engine's retention removes whatever has ended, these too."""
    count = await clearing.clear(app, PIPELINE, statuses=_COMPLETED, older_than_days=older_than_days)
    if count or by != _UPKEEP:
        app.events.emit("articles.cleared", count=count, older_than_days=older_than_days, by=by)
    return count


async def clear_looks(app: Penstock) -> int:
    """Forget what the schedules of every minute came to: thousands a day, of which the last hour is enough. Failed ones
    stay."""
    return sum(
        [
            await clearing.clear(app, name, statuses=_COMPLETED, older_than_days=_SCHEDULED_DAYS)
            for name in (WATCH, KEEP_INDEXES)
        ]
    )


async def retry_failed(app: Penstock, *, category: str | None = None, by: str) -> int:
    """Start failed embeddings again with all their attempts; of a category, or all. One that a newer version of its
    article has overtaken ends at once. Returns how many."""
    wanted = None if category is None else chosen(Category, "category", category)
    count, place = 0, None
    # Newest first, and pages go backwards: what fails again meanwhile has a later time, so each is seen once.
    while True:
        letters = await dead_letters.page(app, DeadLetterFilter(pipeline=PIPELINE), after=place, limit=_BATCH)
        ids = [one.task_id for one in letters.rows if wanted in (None, category_of_stored(one.error))]
        if ids:
            count += len(await dead_letters.replay(app, ids, by=by))
        if (place := letters.next) is None:
            break
    app.events.emit("articles.retried", count=count, category=wanted, by=by)
    return count


async def remove_leftovers(app: Penstock) -> int:
    """What deleted articles left behind: vectors whose delete failed, and marks that everybody has read. Returns how
    many articles and marks."""
    async with app.connection() as connection:
        live = await generations.live(connection)
    removed = 0
    for query in (_sql.unburied, *(generation.query(_sql.stray) for generation in live)):
        removed += await _sweep(app, live, query)
    for forget in (_sql.forget_tombstones, _sql.forget_dropped):
        removed += await generations.in_batches(app, forget, most=_MARKS)
    return removed


async def _sweep(app: Penstock, live: list[Generation], query: str) -> int:
    """``query``: articles that are gone, of all that is indexed or of the vectors of one generation."""
    removed = after = 0
    while True:
        async with app.connection() as connection:
            gone = [row["article_id"] for row in await connection.fetch(query, after, _BATCH)]
            if not gone:
                return removed
            removed += await storing.remove(connection, live, gone)
            after = gone[-1]
