"""All embedders that can be chosen here: the one that comes along, and those of the embedders file."""

import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

import numpy as np

from penstock import Penstock
from penstock.errors import InvalidSetting, PenstockError
from penstock.extensions.articles.embedders.embedder import Embedder, Purpose, Vectors
from penstock.extensions.articles.embedders.local import BuiltinEmbedder, SentenceTransformersModel
from penstock.extensions.articles.embedders.openai import OpenAIModel
from penstock.extensions.articles.embedders.options import SETTING, EmbedderKind, Options, read
from penstock.extensions.articles.errors import EmbedderMisconfigured
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import BUILTIN
from penstock.extensions.articles.settings import ArticleSettings

# People page, and type the same words again.
_QUERIES_KEPT = 256
# Place of a text in the list that was asked for, and what is sent for it.
Batch = list[tuple[int, str]]
_PROBE = "A short text that shows whether the model answers."
_FILE = "file"


class Model(Protocol):
    async def embed(self, texts: list[str], purpose: Purpose) -> Vectors:
        """One row of length 1 per text, for one request's worth of texts that are not empty."""
        ...

    async def close(self) -> None: ...


class ConfiguredEmbedder:
    """Of the embedders file: sends texts as its model takes them, and remembers recent queries."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderView:
    """An embedder as people see it. ``took_ms``: of the probe; None where none was made or it failed."""

    name: str
    kind: str
    model: str
    dimensions: int
    host: str | None
    problem: str | None
    took_ms: float | None = None

    @property
    def ready(self) -> bool:
        return self.problem is None


class Embedders:
    """One per process: embedders keep their connections, circuits and models.

    The file is read when an embedder other than the built-in one is first asked for, so that a mistake in it stops
    nobody who does not need it.
    """

    def __init__(self, app: Penstock, environment: Mapping[str, str] = os.environ) -> None:
        self._app = app
        self._environment = environment
        self._read: dict[str, Options] | None = None
        self._made: dict[str, Embedder] = {}

    def get(self, name: str) -> Embedder:
        """Raises EmbedderMisconfigured for a name that is not known, and for a file that cannot be used."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def for_generation(self, generation: Generation) -> Embedder:
        """Vectors of another model would be compared with those that are there, and mean nothing."""
        embedder = self.get(generation.embedder)
        if (embedder.model, embedder.dimensions) == (generation.model, generation.dimensions):
            return embedder
        raise EmbedderMisconfigured(
            f"The index {generation.name!r} was made with {generation.model} ({generation.dimensions:,} dimensions),"
            f" and embedder {embedder.name!r} is now {embedder.model} ({embedder.dimensions:,}). Put the old model back"
            " into the embedders file, or build a new index: `penstock articles generations build`."
        )

    def listing(self) -> list[EmbedderView]:
        """Never raises: a file that cannot be used is shown as an entry with its problem."""
        try:
            return [_BUILTIN_VIEW, *map(_view, self._options().values())]
        except InvalidSetting as error:
            broken = EmbedderView(name=SETTING, kind=_FILE, model="", dimensions=0, host=None, problem=str(error))
            return [_BUILTIN_VIEW, broken]

    async def probe(self, name: str) -> EmbedderView:
        """One text, measured; or the problem. Raises only for a name that is not known."""
        embedder = self.get(name)
        [view] = [one for one in self.listing() if one.name == name]
        began = perf_counter()
        try:
            await embedder.embed([_PROBE], purpose="document")
        except (PenstockError, OSError) as error:
            return replace(view, problem=str(error))
        return replace(view, took_ms=round((perf_counter() - began) * 1000, 1))

    async def close(self) -> None:
        made, self._made = self._made, {}
        for embedder in made.values():
            await embedder.close()

    def _make(self, name: str) -> Embedder:
        if name == BUILTIN:
            return BuiltinEmbedder()
        try:
            known = self._options()
        except InvalidSetting as error:
            raise EmbedderMisconfigured(f"The embedder {name!r} cannot be used. {error}") from None
        if name not in known:
            raise EmbedderMisconfigured(
                f"There is no embedder {name!r}; known are {', '.join([BUILTIN, *known])}. Name it in the file of"
                f" {SETTING}, for the workers and the service alike, and restart them."
            )
        options = known[name]
        is_endpoint = options.kind is EmbedderKind.OPENAI
        return ConfiguredEmbedder(
            options, OpenAIModel(options, self._app) if is_endpoint else SentenceTransformersModel(options)
        )

    def _options(self) -> dict[str, Options]:
        if self._read is None:
            path = self._app.settings.of(ArticleSettings).embedders_file
            self._read = {one.name: one for one in read(path, self._environment)}
        return self._read


def _view(options: Options) -> EmbedderView:
    return EmbedderView(
        name=options.name,
        kind=options.kind,
        model=options.fingerprint,
        dimensions=options.dimensions,
        host=options.host or None,
        problem=options.problem,
    )


_BUILTIN_VIEW = _view(
    Options(
        name=BUILTIN,
        kind=EmbedderKind.BUILTIN,
        model=BuiltinEmbedder.model,
        dimensions=BuiltinEmbedder.dimensions,
    )
)
