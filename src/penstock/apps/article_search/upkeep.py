"""Keeps article search tidy: clears completed embeddings, removes what is left of deleted articles, starts failed ones
again, and looks for trouble."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from penstock import Penstock
from penstock.apps.article_search import alerts, ann, generations
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.indexing import storing
from penstock.apps.article_search.names import KEEP_INDEXES, PIPELINE, WATCH
from penstock.apps.article_search.trouble import Category, category_of_stored
from penstock.engine.steering import clearing, dead_letters
from penstock.engine.steering.dead_letters import DeadLetterFilter
from penstock.errors import InvalidSetting
from penstock.lifecycle import State
from penstock.storage.queries import load

if TYPE_CHECKING:
    from penstock.apps.article_search.shared import ArticleSearch

_sql = load("upkeep", "penstock.apps.article_search")
Connection = Any

_BATCH = 500
_MARKS = 5_000
# What the schedules of every minute came to, for whoever looks why.
_SCHEDULED_DAYS = 1 / 24
_COMPLETED = (State.DONE, State.NOT_FOUND, State.SKIPPED, State.CANCELLED)
_UPKEEP = "upkeep"


def install_upkeep(app: Penstock, search: "ArticleSearch") -> None:
    """Three schedules. What fires while an earlier one still waits is left out."""
    assert search.app is app, "both belong to one application"

    @app.task(name="articles.cleanup", internal=True)
    async def clean_up() -> dict[str, int]:
        cleared = await clear_completed(app, app.settings.articles_keep_days, by=_UPKEEP)
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

    cron = cleanup_cron(app.settings.articles_cleanup_hours)
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
    wanted = None if category is None else _category(category)
    count = 0
    async for letters in _failed(app):
        ids = [one["task_id"] for one in letters if wanted in (None, category_of_stored(one["error"]))]
        if ids:
            count += len(await dead_letters.replay(app, ids, by=by))
    app.events.emit("articles.retried", count=count, category=wanted, by=by)
    return count


def _category(text: str) -> Category:
    try:
        return Category(text)
    except ValueError:
        raise InvalidSetting("category", text, f"use one of {', '.join(Category)}") from None


async def _failed(app: Penstock) -> AsyncIterator[tuple[dict[str, Any], ...]]:
    """Newest first, and pages go backwards: what fails again meanwhile has a later time, so each is seen once."""
    place = None
    while True:
        found = await dead_letters.page(app, DeadLetterFilter(pipeline=PIPELINE), after=place, limit=_BATCH)
        if found.rows:
            yield found.rows
        if (place := found.next) is None:
            return


async def remove_leftovers(app: Penstock) -> int:
    """What deleted articles left behind: vectors whose delete failed, and marks that everybody has read. Returns how
    many articles and marks."""
    async with app.connection() as connection:
        live = await generations.live(connection)
    removed = await _sweep(app, live, None)
    for generation in live:
        removed += await _sweep(app, live, generation)
    for forget in (_forget_tombstones, _forget_dropped):
        while True:
            async with app.connection() as connection:
                marks = await forget(connection, _MARKS)
            removed += marks
            if marks < _MARKS:
                break
    return removed


async def _sweep(app: Penstock, live: list[Generation], generation: Generation | None) -> int:
    """Of all that is indexed, or of the vectors of one generation."""
    removed = after = 0
    while True:
        async with app.connection() as connection:
            if generation is None:
                gone = await _unburied(connection, after, _BATCH)
            else:
                gone = await _stray(connection, generation, after, _BATCH)
            if not gone:
                return removed
            removed += await storing.remove(connection, live, gone)
            after = gone[-1]


async def _unburied(connection: Connection, after: int, most: int) -> list[int]:
    return [row["article_id"] for row in await connection.fetch(_sql.unburied, after, most)]


async def _stray(connection: Connection, generation: Generation, after: int, most: int) -> list[int]:
    return [row["article_id"] for row in await connection.fetch(generation.query(_sql.stray), after, most)]


async def _forget_tombstones(connection: Connection, most: int) -> int:
    said: str = await connection.execute(_sql.forget_tombstones, most)
    return int(said.rpartition(" ")[2])


async def _forget_dropped(connection: Connection, most: int) -> int:
    said: str = await connection.execute(_sql.forget_dropped, most)
    return int(said.rpartition(" ")[2])
