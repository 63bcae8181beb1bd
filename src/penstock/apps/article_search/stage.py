"""The stage: one task is the embedding of one article in one generation."""

from typing import TYPE_CHECKING, Any

from penstock import Context, Skip, ThrottledError
from penstock.apps.article_search.indexing.order import Needless, Order
from penstock.apps.article_search.trouble import category_of

if TYPE_CHECKING:
    from penstock.apps.article_search.shared import ArticleSearch


async def embed(search: "ArticleSearch", ctx: Context) -> Any:
    order = Order.from_input(ctx.input)
    told: dict[str, Any] = {"article": order.article, "operation": order.operation.value}
    told |= {"revision": order.revision, "generation": order.generation, "tasks": [ctx.task_id]}
    try:
        outcome = await search.indexer.carry_out(order)
    except ThrottledError:
        raise  # nothing failed: the engine waits, and says so
    except Exception as error:
        search.app.events.emit("articles.failed", **told, category=category_of(error).value, error=str(error)[:500])
        raise
    if isinstance(outcome, Needless):
        search.app.events.emit("articles.skipped", **told, reason=outcome.reason)
        return Skip(outcome.reason)
    search.app.events.emit("articles.embedded", **told, chunks=outcome.chunks, reused=outcome.reused)
    columns = {"Revision": outcome.revision, "Chunks": outcome.chunks, "Reused": outcome.reused}
    return {"columns": columns, "started_at": None if outcome.started_at is None else outcome.started_at.isoformat()}
