"""`/api/articles`, `/api/search` and `/api/article-index`: what the application answers, with the service's rules."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from fastapi import APIRouter, FastAPI

from penstock import Penstock
from penstock.extensions.articles import alerts, api_articles, api_import, api_index, api_search, generations
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch

_WATCH_SECONDS = 30.0
_WARM_SECONDS = 30.0


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Inside the service's own, which has opened the application. The service watches as well as the workers do,
    because nobody else can tell that no worker is there; and it keeps vectors in memory, for its many searches."""
    app: Penstock = api.state.ground.app
    api.state.article_search = search = ArticleSearch(app)
    search.near.keep(app.connection, app.settings.of(ArticleSettings).memory_mb)
    beside = [asyncio.create_task(_watch(app)), asyncio.create_task(_warm(search))]
    try:
        yield
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await search.close()


async def _watch(app: Penstock) -> None:
    """A look that fails is logged, and the next one comes all the same."""
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        try:
            await alerts.watch(app)
        except Exception as error:
            structlog.get_logger("penstock.articles").error("articles.watch_failed", error=repr(error))


async def _warm(search: ArticleSearch) -> None:
    """At the start, and after a switch of generations even if nobody searches. Searches find out by themselves as
    well, so a look that fails is only logged."""
    while True:
        try:
            async with search.app.connection() as connection:
                await search.near.warm(connection, await generations.active(connection))
        except Exception as error:
            structlog.get_logger("penstock.articles").warning("articles.warm_failed", error=repr(error))
        await asyncio.sleep(_WARM_SECONDS)


router = APIRouter(lifespan=lifespan)
for _part in (api_import.router, api_articles.router, api_search.router, api_index.router, api_index.queries):
    router.include_router(_part)
