"""An embedder as somebody configured it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.config import PREFIX
from penstock.extensions.articles.names import BUILTIN
from penstock.providers.own_network import is_own_network
from penstock.providers.toml_tables import Table, key_of, tables

# Permits that come together: a few seconds' worth.
_BURST_SECONDS = 5.0


class EmbedderKind(StrEnum):
    BUILTIN = "builtin"
    OPENAI = "openai"
    SENTENCE_TRANSFORMERS = "sentence-transformers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``most_texts`` and ``most_characters`` are those of one request; a single text that is longer is cut there.

    ``key`` comes from the environment and never shows. ``problem``: why it cannot be asked, for people.
    ``send_dimensions``: ask the endpoint for vectors of that many numbers, where its model can make several sizes.
    ``words_weight``: of words in a hybrid search, where meaning has 1; 0.4 to 0.7 was best with MiniLM.
    """

    name: str
    kind: EmbedderKind
    model: str
    dimensions: int
    url: str = ""
    key_variable: str | None = None
    key: str | None = field(default=None, repr=False)
    most_texts: int = 64
    most_characters: int = 100_000
    requests_per_minute: float | None = None
    timeout_seconds: float = 30.0
    query_prefix: str = ""
    document_prefix: str = ""
    send_dimensions: bool = False
    words_weight: float = 0.5
    problem: str | None = None

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def fingerprint(self) -> str:
        """The model, and what else changes its vectors. Moving the endpoint to another host does not."""
        if not self.query_prefix and not self.document_prefix:
            return self.model
        prefixes = repr((self.query_prefix, self.document_prefix)).encode()
        return f"{self.model} {sha256(prefixes).hexdigest()[:8]}"

    @property
    def limiter_key(self) -> str:
        return f"articles:{self.name}"

    @property
    def burst(self) -> int:
        return max(1, int((self.requests_per_minute or 0.0) / 60 * _BURST_SECONDS))


SETTING = f"{PREFIX}ARTICLES_EMBEDDERS_FILE"
_TEXTS = {"name": True, "kind": True, "model": True}
_TEXTS_OF_ENDPOINTS = {"url": True, "key_variable": False}
_EXACT_TEXTS = ("query_prefix", "document_prefix")
# name: (least, most, whole). The most dimensions are those that an index of PostgreSQL takes.
_NUMBERS = {
    "dimensions": (2, 4000, True),
    "most_texts": (1, 2048, True),
    "most_characters": (100, 10_000_000, True),
    "requests_per_minute": (0.01, 600_000, False),
    "timeout_seconds": (0.1, 600, False),
    "words_weight": (0.01, 10, False),
}
_SWITCHES = ("send_dimensions",)
_FIELDS = (*_TEXTS, *_TEXTS_OF_ENDPOINTS, *_NUMBERS, *_EXACT_TEXTS, *_SWITCHES)
_ONLY_ENDPOINTS = (*_TEXTS_OF_ENDPOINTS, "requests_per_minute", "timeout_seconds", "send_dimensions")
_KINDS = (EmbedderKind.OPENAI, EmbedderKind.SENTENCE_TRANSFORMERS)


def read(path: Path | None, environment: Mapping[str, str]) -> list[Options]:
    """In the order of the file; none where no file is set."""
    if path is None:
        return []
    found: dict[str, Options] = {}
    for table in tables(path, setting=SETTING, kind="embedder"):
        options = _options(table, environment)
        if options.name in found:
            raise table.wrong("name", options.name, "another embedder of the file has the same name")
        found[options.name] = options
    return list(found.values())


def _options(table: Table, environment: Mapping[str, str]) -> Options:
    table.check_fields(_FIELDS)
    given = table.texts(_TEXTS)
    if given["name"] == BUILTIN:
        raise table.wrong("name", BUILTIN, "that is the embedder that comes along; choose another name")
    if given["kind"] not in _KINDS:
        raise table.wrong("kind", given["kind"], f"use {' or '.join(_KINDS)}")
    given["kind"] = EmbedderKind(given["kind"])
    given |= table.exact_texts(_EXACT_TEXTS) | table.numbers(_NUMBERS)
    if "dimensions" not in given:
        raise table.wrong("dimensions", None, "say how many numbers a vector of the model has")
    if given["kind"] is EmbedderKind.SENTENCE_TRANSFORMERS:
        if (name := next(filter(table.has, _ONLY_ENDPOINTS), None)) is not None:
            raise table.wrong(name, "…", f"a model of kind {given['kind']} runs here and has no such field")
        return Options(**given)
    return _endpoint(table, given, environment)


def _endpoint(table: Table, given: dict[str, Any], environment: Mapping[str, str]) -> Options:
    given |= table.texts(_TEXTS_OF_ENDPOINTS) | table.switches(_SWITCHES)
    table.check_address(given["url"])
    given["url"] = given["url"].rstrip("/").removesuffix("/embeddings")
    parts = urlsplit(given["url"])
    if parts.scheme == "http" and not is_own_network(parts.hostname or ""):
        raise table.wrong(
            "url",
            given["url"],
            "texts and keys go over http only to this machine or your own network; use https, or the address of a"
            " private network",
        )
    key, problem = key_of(given.get("key_variable"), environment)
    return Options(**given, key=key, problem=problem)
