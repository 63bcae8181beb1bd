"""Loads the named queries of a ``sql/<table>.sql`` file.

A query starts at a line ``-- name: claim`` and reaches to the next one. Keeping SQL in .sql files lets
people read, EXPLAIN and review it as SQL; nothing in Penstock builds SQL from strings.
"""

import re
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString, cast

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Queries:
    """The queries of one file as attributes; an unknown name fails when the module is imported."""

    def __init__(self, table: str, texts: dict[str, LiteralString]) -> None:
        self._table = table
        self._texts = texts

    def __getattr__(self, name: str) -> LiteralString:
        try:
            return self._texts[name]
        except KeyError:
            raise AttributeError(f"sql/{self._table}.sql has no query {name!r}") from None

    def names(self) -> tuple[str, ...]:
        return tuple(self._texts)


def columns(record: type[Any], rows: Sequence[Any]) -> list[list[Any]]:
    """An array per field of the frozen record, in their order, for a statement that takes many of them."""
    return [[getattr(row, field.name) for row in rows] for field in fields(record)]


@cache
def load(table: str, package: str = "penstock.storage") -> Queries:
    """``package``: whose ``sql`` folder it is; the applications have their own."""
    text = files(package).joinpath("sql", f"{table}.sql").read_text("utf-8")
    parts = _NAME.split(text)
    texts = {name: cast(LiteralString, body.strip()) for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    return Queries(table, texts)
