"""Selections and what is done with them. One function per query of ``sql/selections.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock.lifecycle import State
from penstock.storage.queries import load

_sql = load("selections", "penstock.console.storage")
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """``picked`` is None where it is all that match ``filter`` but ``left_out``."""

    id: int
    owner: str
    filter: Mapping[str, Any]
    picked: tuple[int, ...] | None
    left_out: frozenset[int]
    n: int
    estimate: bool
    created_at: datetime
    expires_at: datetime
    expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``later``: waits for a time to come. ``edited``: its copy stands for it."""

    task_id: int
    job_id: int | None
    status: State
    at: datetime
    later: bool
    edited: bool


async def create(
    connection: Connection,
    *,
    owner: str,
    filter: Mapping[str, Any],
    picked: Sequence[int] | None,
    left_out: Sequence[int],
    n: int,
    estimate: bool,
    keep_seconds: float,
    most: int,
) -> tuple[int, datetime]:
    """(id, when it expires). Of the owner's that nothing was done with, the oldest goes where there are ``most``."""
    written = orjson.dumps(dict(filter)).decode()
    values = (owner, written, picked, left_out, n, estimate, keep_seconds, most)
    row = await connection.fetchrow(_sql.create, *values)
    return row["id"], row["expires_at"]


async def get(connection: Connection, selection_id: int) -> Selection | None:
    row = await connection.fetchrow(_sql.get, selection_id)
    if row is None:
        return None
    values = dict(row)
    picked = values["picked"]
    values |= {"filter": orjson.loads(values["filter"]), "picked": None if picked is None else tuple(picked)}
    return Selection(**values | {"left_out": frozenset(values["left_out"])})


async def use(connection: Connection, selection_id: int) -> bool:
    """False: it is gone."""
    return await connection.fetchval(_sql.use, selection_id) is not None


async def forget(connection: Connection, kept_seconds: float, batch: int) -> int:
    """Returns how many are gone."""
    status: str = await connection.execute(_sql.forget, kept_seconds, batch)
    return int(status.rsplit(maxsplit=1)[-1])


async def standing(connection: Connection, task_ids: Sequence[int]) -> list[Standing]:
    """In no order; those that are gone are left out."""
    rows = await connection.fetch(_sql.standing, task_ids)
    return [Standing(**dict(row) | {"status": State(row["status"])}) for row in rows]


async def later(connection: Connection, job_ids: Sequence[int], most: int) -> int:
    """How many of these jobs wait for a time to come, ``most`` where there are more."""
    found: int = await connection.fetchval(_sql.later, job_ids, most)
    return found


async def internal(connection: Connection, task_ids: Sequence[int]) -> set[int]:
    return {row["task_id"] for row in await connection.fetch(_sql.internal, task_ids)}
