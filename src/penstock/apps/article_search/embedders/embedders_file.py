"""The TOML file that names further embedders."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.apps.article_search.embedders.options import Kind, Options
from penstock.apps.article_search.names import BUILTIN
from penstock.config import PREFIX
from penstock.providers.own_network import is_own_network
from penstock.providers.toml_tables import Table, key_of, tables

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
_KINDS = (Kind.OPENAI, Kind.SENTENCE_TRANSFORMERS)


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
    given["kind"] = Kind(given["kind"])
    given |= table.exact_texts(_EXACT_TEXTS) | table.numbers(_NUMBERS)
    if "dimensions" not in given:
        raise table.wrong("dimensions", None, "say how many numbers a vector of the model has")
    if given["kind"] is Kind.SENTENCE_TRANSFORMERS:
        _refuse_endpoint_fields(table)
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


def _refuse_endpoint_fields(table: Table) -> None:
    for field in _ONLY_ENDPOINTS:
        if table.has(field):
            raise table.wrong(
                field, "…", f"a model of kind {Kind.SENTENCE_TRANSFORMERS} runs here and has no such field"
            )
