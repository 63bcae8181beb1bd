"""The model that comes inside the package: no network, no key, no GPU."""

import asyncio
from collections.abc import Sequence

from penstock.extensions.articles.embedders.embedder import Purpose, Vectors
from penstock.extensions.articles.errors import EmbedderExhausted
from penstock.extensions.articles.names import BUILTIN
from penstock.language import embedding


class BuiltinEmbedder:
    """Reads its table with the first text, once, and counts in a thread."""

    name = BUILTIN
    model = embedding.VERSION
    dimensions = embedding.DIMENSIONS
    # A table of words finds less than the words themselves do. docs/decisions/0019 has the figures.
    words_weight = 2.0

    def __init__(self) -> None:
        self._loaded: embedding.Embedder | None = None
        self._loading = asyncio.Lock()

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """Queries and documents are the same to it."""
        try:
            embedder = await self._model()
            return await asyncio.to_thread(embedder.embed, texts)
        except MemoryError:
            raise EmbedderExhausted(
                f"There was not enough memory for the vectors of {len(texts):,} texts. Give the worker more memory,"
                " or lower PENSTOCK_ARTICLES_BATCH_SIZE."
            ) from None

    async def close(self) -> None:
        self._loaded = None

    async def _model(self) -> embedding.Embedder:
        async with self._loading:
            if self._loaded is None:
                self._loaded = await asyncio.to_thread(embedding.Embedder.load)
            return self._loaded
