"""An embedder of the embedders file: sends texts as its model takes them, and remembers recent queries."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from penstock.extensions.articles.embedders.embedder import Purpose, Vectors
from penstock.extensions.articles.embedders.options import Options
from penstock.extensions.articles.errors import EmbedderMisconfigured

# People page, and type the same words again.
_QUERIES_KEPT = 256
# Place of a text in the list that was asked for, and what is sent for it.
Batch = list[tuple[int, str]]


class Model(Protocol):
    async def embed(self, texts: list[str], purpose: Purpose) -> Vectors:
        """One row of length 1 per text, for one request's worth of texts that are not empty."""
        ...

    async def close(self) -> None: ...


class ConfiguredEmbedder:
    def __init__(self, options: Options, model: Model) -> None:
        self.name = options.name
        self.model = options.fingerprint
        self.dimensions = options.dimensions
        self.words_weight = options.words_weight
        self._options = options
        self._model = model
        self._known: OrderedDict[str, Vectors] = OrderedDict()

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """Only single queries are remembered."""
        if purpose != "query" or len(texts) != 1:
            return await self._embed(texts, purpose)
        text = texts[0]
        if text in self._known:
            self._known.move_to_end(text)
        else:
            self._known[text] = await self._embed(texts, purpose)
            if len(self._known) > _QUERIES_KEPT:
                self._known.popitem(last=False)
        return self._known[text].copy()

    async def close(self) -> None:
        self._known.clear()
        await self._model.close()

    async def _embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if self._options.problem is not None:
            raise EmbedderMisconfigured(self._options.problem)
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for batch in self._batches(texts, purpose):
            rows[[place for place, _ in batch]] = await self._model.embed([text for _, text in batch], purpose)
        return rows

    def _batches(self, texts: Sequence[str], purpose: Purpose) -> Iterator[Batch]:
        """Empty texts are in none of them: endpoints refuse them, and their vector is zero."""
        options = self._options
        prefix = options.query_prefix if purpose == "query" else options.document_prefix
        batch: Batch = []
        characters = 0
        for place, text in enumerate(texts):
            if not text.strip():
                continue
            # Half a pair of surrogates is no UTF-8, and no JSON.
            sent = (prefix + text)[: options.most_characters].encode("utf-8", "replace").decode()
            if batch and (len(batch) >= options.most_texts or characters + len(sent) > options.most_characters):
                yield batch
                batch, characters = [], 0
            batch.append((place, sent))
            characters += len(sent)
        if batch:
            yield batch
