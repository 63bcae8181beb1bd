"""All embedders that can be chosen here: the one that comes along, and those of the embedders file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from penstock import Penstock
from penstock.errors import InvalidSetting, PenstockError
from penstock.extensions.articles.embedders.builtin import BuiltinEmbedder
from penstock.extensions.articles.embedders.configured import ConfiguredEmbedder
from penstock.extensions.articles.embedders.embedder import Embedder
from penstock.extensions.articles.embedders.openai import OpenAIModel
from penstock.extensions.articles.embedders.options import SETTING, EmbedderKind, Options, read
from penstock.extensions.articles.embedders.sentence_transformers import SentenceTransformersModel
from penstock.extensions.articles.errors import EmbedderMisconfigured
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import BUILTIN
from penstock.extensions.articles.settings import ArticleSettings

_PROBE = "A short text that shows whether the model answers."
_FILE = "file"


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
