"""Article search, each embedding of which leaves its trace in the ledger."""

from dataclasses import replace
from typing import Any

from penstock import Context, Penstock
from penstock.extensions import articles
from penstock.extensions.articles.names import PIPELINE
from penstock.testing.ledger import Pen

app = Penstock("articles")
pen = Pen()
search = articles.install(app)
_stages = app.pipelines[PIPELINE].stages
_embed = _stages[0].function


async def noted(ctx: Context, **values: Any) -> Any:
    """``start`` when a run begins, ``end`` when the handler has ended, however it did."""
    pen.note(ctx, "start")
    try:
        return await _embed(ctx, **values)
    finally:
        pen.note(ctx, "end")


_stages[0] = replace(_stages[0], function=noted)
