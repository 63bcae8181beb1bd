"""Places that are watched for files. One function per query of ``sql/sources.sql``."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from penstock.storage.queries import load

_sql = load("sources", "penstock.console.storage")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """As somebody wants it. ``console/files/sources/source.py`` says what may stand in it."""

    name: str
    kind: str
    place: dict[str, Any]
    owner: str
    pipeline: str
    pattern: str = "*"
    options: dict[str, Any] = field(default_factory=dict)
    after: str = "keep"
    target: str | None = None
    stable_seconds: float = 5.0
    user_env: str | None = None
    secret_env: str | None = None
    enabled: bool = True
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(NewSource):
    """A row."""

    id: int
    created_at: datetime
    scanned_at: datetime | None
    problem: str | None


async def create(connection: Connection, new: NewSource) -> int | None:
    """None where the name is taken."""
    made: int | None = await connection.fetchval(
        _sql.create,
        new.name,
        new.kind,
        orjson.dumps(new.place).decode(),
        new.pattern,
        new.owner,
        new.pipeline,
        orjson.dumps(new.options).decode(),
        new.after,
        new.target,
        new.stable_seconds,
        new.user_env,
        new.secret_env,
        new.enabled,
        new.created_by,
    )
    return made


async def get(connection: Connection, name: str) -> Source | None:
    row = await connection.fetchrow(_sql.get, name)
    return None if row is None else _source(row)


async def page(connection: Connection, *, owner: str | None, after: str, limit: int) -> list[Source]:
    return [_source(row) for row in await connection.fetch(_sql.page, owner, after, limit)]


async def delete(connection: Connection, name: str) -> bool:
    return await connection.fetchval(_sql.delete, name) is not None


async def next_scan(connection: Connection, source_id: int) -> int | None:
    """None where the source was removed meanwhile."""
    number: int | None = await connection.fetchval(_sql.next_scan, source_id)
    return number


async def scanned(connection: Connection, source_id: int, *, problem: str | None, whole: bool) -> None:
    await connection.execute(_sql.scanned, source_id, problem, whole)


async def pipeline_known(connection: Connection, pipeline: str) -> bool:
    known: bool = await connection.fetchval(_sql.pipeline_known, pipeline)
    return known


def _source(row: Any) -> Source:
    values = dict(row)
    return Source(**values | {"place": orjson.loads(values["place"]), "options": orjson.loads(values["options"])})
