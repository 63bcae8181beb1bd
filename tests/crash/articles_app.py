"""Article search, each embedding of which leaves its trace in the ledger."""

from typing import Any

from penstock import Context, Penstock
from penstock.apps import article_search
from penstock.apps.article_search import stage
from penstock.testing.ledger import Pen

app = Penstock("articles")
pen = Pen()
_embed = stage.embed


async def noted(search: Any, ctx: Context) -> Any:
    """``start`` when a run begins, ``end`` when the handler has ended, however it did."""
    pen.note(ctx, "start")
    try:
        return await _embed(search, ctx)
    finally:
        pen.note(ctx, "end")


stage.embed = noted
search = article_search.install(app)
stage.embed = _embed
