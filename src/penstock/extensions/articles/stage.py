"""The stage: one task is the embedding of one article in one generation."""

from typing import Any

from penstock import Context, Skip, ThrottledError
from penstock.extensions.articles.errors import category_of
from penstock.extensions.articles.indexing.order import Needless, Order
from penstock.extensions.articles.shared import ArticleSearch


async def embed(search: ArticleSearch, ctx: Context) -> Any:
    order = Order.from_input(ctx.input)
    facts = order.facts | {"tasks": [ctx.task_id]}
    try:
        outcome = await search.indexer.carry_out(order)
    except ThrottledError:
        raise  # nothing failed: the engine waits, and says so
    except Exception as error:
        search.app.events.emit("articles.failed", **facts, category=category_of(error).value, error=str(error)[:500])
        raise
    if isinstance(outcome, Needless):
        search.app.events.emit("articles.skipped", **facts, reason=outcome.reason)
        return Skip(outcome.reason)
    search.app.events.emit("articles.embedded", **facts, chunks=outcome.chunks, reused=outcome.reused)
    columns = {"Revision": outcome.revision, "Chunks": outcome.chunks, "Reused": outcome.reused}
    return {"columns": columns, "started_at": None if outcome.started_at is None else outcome.started_at.isoformat()}
