"""Loads the named queries of a ``sql/<table>.sql`` file, and makes functions of those that need no Python.

A query starts at a line ``-- name: claim`` and reaches to the next one. Keeping SQL in .sql files lets
people read, EXPLAIN and review it as SQL; nothing in Penstock builds SQL from strings.

``pause = Changed[[int, str]](_sql.pause)`` is a function of a connection and of an int and a str, which are ``$1`` and
``$2``; the class says what becomes of the answer.
"""

import re
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any, Generic, LiteralString, ParamSpec, TypeVar, cast

import orjson

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Key = TypeVar("Key")
Connection = Any  # asyncpg.Connection or a pool's proxy of it; the stubs do not relate them


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


def decoded(row: Any, *names: str) -> dict[str, Any]:
    """The row with what these columns hold as JSON."""
    return {**row, **{name: None if row[name] is None else orjson.loads(row[name]) for name in names}}


class _Function:
    def __init__(self, query: LiteralString) -> None:
        self.query = query


class Command(_Function, Generic[Given]):
    """Nothing."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> None:
        await connection.execute(self.query, *values)


class Affected(_Function, Generic[Given]):
    """How many rows it changed or removed, as the server says."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> int:
        said: str = await connection.execute(self.query, *values)
        return int(said.rpartition(" ")[2])


class Changed(_Function, Generic[Given]):
    """Whether a row came back."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> bool:
        return await connection.fetchval(self.query, *values) is not None


class Counted(_Function, Generic[Given]):
    """How many rows came back."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> int:
        return len(await connection.fetch(self.query, *values))


class Value(_Function, Generic[Given, Answer]):
    """The one value of the one row."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> Answer:
        return cast(Answer, await connection.fetchval(self.query, *values))


class Column(_Function, Generic[Given, Answer]):
    """The first value of each row."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> list[Answer]:
        return [row[0] for row in await connection.fetch(self.query, *values)]


class Pairs(_Function, Generic[Given, Key, Answer]):
    """The second value of each row by its first."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> dict[Key, Answer]:
        return dict(await connection.fetch(self.query, *values))


class _OfRecords(Generic[Answer]):
    """Rows as a ``record``, whose fields have the names of the columns. ``json``: columns that hold some."""

    def __init__(self, query: LiteralString, record: type[Answer], *, json: Sequence[str] = ()) -> None:
        self.query = query
        self._record = record
        self._json = json

    def made(self, row: Any) -> Answer:
        return self._record(**decoded(row, *self._json)) if self._json else self._record(**row)


class Records(_OfRecords[Answer], Generic[Given, Answer]):
    """All of them."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> list[Answer]:
        return [self.made(row) for row in await connection.fetch(self.query, *values)]


class Record(_OfRecords[Answer], Generic[Given, Answer]):
    """The one; None where there is none."""

    async def __call__(self, connection: Connection, *values: Given.args, **none: Given.kwargs) -> Answer | None:
        row = await connection.fetchrow(self.query, *values)
        return None if row is None else self.made(row)
