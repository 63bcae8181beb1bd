"""Remembers the vectors of recent queries: people page, and type the same words again."""

from collections import OrderedDict
from collections.abc import Sequence

from penstock.apps.article_search.embedders.embedder import Embedder, Purpose, Vectors

_QUERIES_KEPT = 256


class RememberingEmbedder:
    """In front of an embedder that is far away or slow. Only single queries are kept."""

    def __init__(self, inner: Embedder) -> None:
        self.name = inner.name
        self.model = inner.model
        self.dimensions = inner.dimensions
        self.words_weight = inner.words_weight
        self._inner = inner
        self._known: OrderedDict[str, Vectors] = OrderedDict()

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if purpose != "query" or len(texts) != 1:
            return await self._inner.embed(texts, purpose=purpose)
        text = texts[0]
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text].copy()
        rows = await self._inner.embed(texts, purpose=purpose)
        self._known[text] = rows.copy()
        if len(self._known) > _QUERIES_KEPT:
            self._known.popitem(last=False)
        return rows

    async def close(self) -> None:
        self._known.clear()
        await self._inner.close()
