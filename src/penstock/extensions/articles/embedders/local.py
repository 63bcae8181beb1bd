"""Models that run in this process: the one inside the package, and those of the sentence-transformers library."""

import asyncio
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.extensions.articles.embedders.embedder import Purpose, Vectors
from penstock.extensions.articles.embedders.options import Options
from penstock.extensions.articles.embedders.reply import NotNumbers, normalised
from penstock.extensions.articles.errors import EmbedderExhausted, EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.names import BUILTIN
from penstock.language import embedding


class BuiltinEmbedder:
    """No network, no key, no GPU. Reads its table with the first text, once, and counts in a thread."""

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
            async with self._loading:
                if self._loaded is None:
                    self._loaded = await asyncio.to_thread(embedding.Embedder.load)
                embedder = self._loaded
            return await asyncio.to_thread(embedder.embed, texts)
        except MemoryError:
            raise EmbedderExhausted(
                f"There was not enough memory for the vectors of {len(texts):,} texts. Give the worker more memory,"
                " or lower PENSTOCK_ARTICLES_BATCH_SIZE."
            ) from None

    async def close(self) -> None:
        self._loaded = None


class SentenceTransformersModel:
    """Loads its model with the first text. One batch at a time: the library uses all cores by itself."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._loaded: Any = None
        self._turn = asyncio.Lock()

    async def close(self) -> None:
        self._loaded = None

    async def embed(self, texts: list[str], purpose: Purpose) -> Vectors:
        async with self._turn:
            return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: list[str]) -> Vectors:
        try:
            made = self._model().encode(texts, convert_to_numpy=True, show_progress_bar=False)
            rows = np.asarray(made, dtype=np.float32)
        except MemoryError:
            raise self._no_memory() from None
        except RuntimeError as error:
            # How torch says it, on a graphics card and without one.
            if "memory" in str(error):
                raise self._no_memory() from None
            raise
        if rows.shape != (len(texts), self._options.dimensions):
            raise EmbedderMisconfigured(
                f"The model {self._options.model!r} makes vectors of {rows.shape[-1]:,} numbers, and embedder"
                f" {self._options.name!r} says dimensions = {self._options.dimensions:,}. Correct it in the"
                " embedders file."
            )
        try:
            return normalised(rows)
        except NotNumbers as made:
            raise TextRefused(f"The model {self._options.model!r} made {made} of a text. Change the text.") from None

    def _model(self) -> Any:
        if self._loaded is None:
            try:
                library = importlib.import_module("sentence_transformers")
            except ImportError:
                raise EmbedderMisconfigured(
                    "The library sentence-transformers is not installed. `pip install"
                    " 'penstock[sentence-transformers]'` brings it; restart the workers then."
                ) from None
            try:
                self._loaded = library.SentenceTransformer(self._options.model)
            except (OSError, ValueError) as error:
                raise EmbedderMisconfigured(
                    f"The model {self._options.model!r} of embedder {self._options.name!r} cannot be loaded"
                    f" ({type(error).__name__}). Check its name, or give the folder that holds it."
                ) from None
        return self._loaded

    def _no_memory(self) -> EmbedderExhausted:
        return EmbedderExhausted(
            f"There was not enough memory for the model {self._options.model!r}. Lower most_texts of embedder"
            f" {self._options.name!r}, or give the worker more memory."
        )
