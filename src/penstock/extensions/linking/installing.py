"""What record linking declares in an application: its tasks and their upkeep."""

from typing import Any

from penstock import Context, Penstock
from penstock.extensions.linking.cache import Question
from penstock.extensions.linking.fetching import fetch
from penstock.extensions.linking.saving import forget_old, remove_deleted
from penstock.extensions.linking.scoring_records import score
from penstock.extensions.linking.searching import search
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.stages import FETCH, MAX_ATTEMPTS, RETRY, SCORE, SEARCH, WATCH
from penstock.extensions.linking.watching import settle_all, watch


def install(app: Penstock, shared: RecordLinking | None = None) -> RecordLinking:
    """Declare the tasks. Needs no database; close what it returns where the process goes on without the app."""
    linking = shared or RecordLinking(app)
    settings = app.settings.of(LinkingSettings)
    at_once, timeout = settings.concurrency, 10 * settings.timeout_seconds
    asking: dict[str, Any] = {"max_attempts": MAX_ATTEMPTS, "retry": RETRY, "timeout": timeout, "internal": True}

    # Fetches and scores come first: they end records, and searches would otherwise keep them waiting to the end.
    @app.task(name=SEARCH, pool=at_once, order=2, **asking)
    async def linking_search(
        ctx: Context, project: int, run: int, language: str, query: str, types: list[str] | None = None
    ) -> Any:
        question = Question(language=language, query=query, types=tuple(types or ()))
        return await search(linking, ctx, project, run, question)

    @app.task(name=FETCH, pool=max(2, at_once // 2), order=1, **asking)
    async def linking_fetch(ctx: Context, source: str, ids: list[str]) -> Any:
        return await fetch(linking, ctx, source, ids)

    @app.task(name=SCORE, pool=2, order=1, retry=RETRY, max_attempts=MAX_ATTEMPTS, internal=True)
    async def linking_score(ctx: Context, project: int, run: int | None, records: list[int]) -> Any:
        return await score(linking, ctx, project, run, records)

    @app.task(name=WATCH, pool=2, order=0, retry=RETRY, max_attempts=1000, internal=True)
    async def linking_watch(ctx: Context, project: int, run: int) -> Any:
        return await watch(linking, ctx, project, run)

    @app.task(name="linking.forget", internal=True)
    async def linking_forget() -> dict[str, int]:
        removed, runs = await remove_deleted(linking), await settle_all(linking)
        return {"projects": removed, "runs": runs, "answers": await forget_old(linking)}

    app.schedule("17 * * * *", linking_forget, name="linking.forget", options={"unique_key": "linking.forget"})
    return linking
