"""Article search: articles are saved at once, embeddings follow in the background, search works on what is there.

    from penstock import Penstock
    from penstock.apps import article_search

    app = Penstock("handbook")
    article_search.install(app)

``docs/article-search.md`` is the page for people.
"""

from typing import TYPE_CHECKING, Any

from penstock import Context, Penstock, RetryPolicy
from penstock.apps.article_search.names import PIPELINE

if TYPE_CHECKING:
    from fastapi import APIRouter

    from penstock.apps.article_search.shared import ArticleSearch

__all__ = ["PIPELINE", "install", "routers"]

RESULT_COLUMNS = ("Revision", "Chunks", "Reused")


def install(app: Penstock, shared: "ArticleSearch | None" = None) -> "ArticleSearch":
    """Declare the tasks. Needs no database; close what it returns where the process goes on without the app."""
    from penstock.apps.article_search.building import install_building
    from penstock.apps.article_search.shared import ArticleSearch
    from penstock.apps.article_search.stage import embed
    from penstock.apps.article_search.upkeep import install_upkeep

    search = shared or ArticleSearch(app)
    settings = app.settings

    # One at a time in the whole fleet, unless the settings say more.
    @app.task(
        name=PIPELINE,
        pool=settings.articles_batch_size,
        batch=settings.articles_batch_size,
        max_running=settings.articles_batch_size * settings.articles_batches_at_once,
        max_attempts=settings.articles_max_retries + 1,
        retry=RetryPolicy(base_seconds=settings.articles_backoff_seconds),
        timeout=settings.articles_timeout_seconds,
        poll=settings.articles_worker_interval_seconds,
        result_columns=RESULT_COLUMNS,
        internal=True,
    )
    async def articles(
        ctx: Context, article: int, operation: str, revision: int | None, generation: int | None, force: bool = False
    ) -> Any:
        return await embed(search, ctx)

    install_building(app, search)
    install_upkeep(app, search)
    return search


def routers() -> "list[APIRouter]":
    """What the application answers over HTTP."""
    from penstock.apps.article_search.api import router

    return [router]
