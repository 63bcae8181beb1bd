"""The table ``website_analysis.pages``: what a run fetched, as it came, so that it can be read again."""

from collections.abc import Sequence
from typing import Any

import orjson

from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.storage.queries import load

_sql = load("pages", "penstock.extensions.sites")
Connection = Any
_DAY_SECONDS = 86_400.0
_SWEEP_BATCH = 500


async def keep(connection: Connection, task_id: int, run: int, fetched: Sequence[Fetched]) -> None:
    """In the order in which they came. Belongs into the transaction that ends the stage."""
    rows = []
    for number, one in enumerate(fetched, start=1):
        headers = orjson.dumps(one.headers).decode()
        rows.append((task_id, run, number, one.kind, one.url, one.final_url, one.status, headers, one.body, one.sha256))
    async with connection.transaction():
        await connection.executemany(_sql.put, rows)
        await connection.execute(_sql.drop_behind, task_id, run, len(fetched))


async def kept(connection: Connection, task_id: int) -> list[Fetched]:
    """Of the newest run that fetched anything; empty where nothing is kept any more."""
    rows = await connection.fetch(_sql.kept, task_id)
    return [Fetched(**{**row, "headers": orjson.loads(row["headers"])}) for row in rows]


async def sweep(connection: Connection, days: float, *, most: int = _SWEEP_BATCH) -> int:
    """How many were removed, ``most`` at once."""
    said: str = await connection.execute(_sql.sweep, days * _DAY_SECONDS, most)
    return int(said.rpartition(" ")[2])
