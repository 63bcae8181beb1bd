"""Rows of tasks and jobs that are no more. One function over the queries of ``sql/leftovers.sql``."""

from typing import Any

from penstock.storage.queries import load

_sql = load("leftovers", "penstock.apps.website_analysis")
Connection = Any

BATCH = 1000


async def sweep(connection: Connection) -> int:
    """Removes a batch of each table; returns how many rows, 0 when none is left."""
    removed = 0
    for statement in (_sql.pages, _sql.answers, _sql.orders, _sql.reservations, _sql.budgets):
        said: str = await connection.execute(statement, BATCH)
        removed += int(said.rpartition(" ")[2])
    return removed
