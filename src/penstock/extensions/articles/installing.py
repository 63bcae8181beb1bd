"""What article search declares in an application: its tasks and their upkeep."""

from datetime import timedelta
from typing import Any

from penstock import Context, Penstock, RetryPolicy, Skip, ThrottledError
from penstock.extensions.articles import ann
from penstock.extensions.articles.errors import category_of
from penstock.extensions.articles.filling import bring_on
from penstock.extensions.articles.indexing.order import Needless, Order
from penstock.extensions.articles.names import BUILD, PIPELINE
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch
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
        """The embedding of one article in one generation."""
        order = Order.from_input(ctx.input)
        facts = order.facts | {"tasks": [ctx.task_id]}
        try:
            outcome = await search.indexer.carry_out(order)
        except ThrottledError:
            raise  # nothing failed: the engine waits, and says so
        except Exception as error:
            search.app.events.emit(
                "articles.failed", **facts, category=category_of(error).value, error=str(error)[:500]
            )
            raise
        if isinstance(outcome, Needless):
            search.app.events.emit("articles.skipped", **facts, reason=outcome.reason)
            return Skip(outcome.reason)
        search.app.events.emit("articles.embedded", **facts, chunks=outcome.chunks, reused=outcome.reused)
        columns = {"Revision": outcome.revision, "Chunks": outcome.chunks, "Reused": outcome.reused}
        return {
            "columns": columns,
            "started_at": None if outcome.started_at is None else outcome.started_at.isoformat(),
        }

    @app.task(
        name=BUILD,
        pool=1,
        max_running=1,
        timeout=timedelta(seconds=ann.LONGEST_SECONDS),
        max_attempts=10,
        retry=RetryPolicy(base_seconds=15.0, cap_seconds=600.0),
        internal=True,
    )
    async def build_generation(ctx: Context, generation: int, remove: bool = False) -> Any:
        """Makes generations ready, gives growing ones their index and removes dropped ones."""
        return await bring_on(search, ctx, generation, remove=remove)

    install_upkeep(app, search)
    return search
