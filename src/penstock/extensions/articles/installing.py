"""What article search declares in an application: its tasks and their upkeep."""

from typing import Any

from penstock import Context, Penstock, RetryPolicy
from penstock.extensions.articles.building import install_building
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch
from penstock.extensions.articles.stage import embed
from penstock.extensions.articles.upkeep import install_upkeep

RESULT_COLUMNS = ("Revision", "Chunks", "Reused")


def install(app: Penstock, shared: ArticleSearch | None = None) -> ArticleSearch:
    """Declare the tasks. Needs no database; close what it returns where the process goes on without the app."""
    search = shared or ArticleSearch(app)
    settings = app.settings.of(ArticleSettings)

    # One at a time in the whole fleet, unless the settings say more.
    @app.task(
        name=PIPELINE,
        pool=settings.batch_size,
        batch=settings.batch_size,
        max_running=settings.batch_size * settings.batches_at_once,
        max_attempts=settings.max_retries + 1,
        retry=RetryPolicy(base_seconds=settings.backoff_seconds),
        timeout=settings.timeout_seconds,
        poll=settings.worker_interval_seconds,
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
