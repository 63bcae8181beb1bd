"""Removes old pages, what belonged to tasks that are gone, and the limits of idle hosts, once a day."""

from collections.abc import Awaitable, Callable
from typing import Any

from penstock import Penstock
from penstock.control import limits
from penstock.extensions.sites import pages
from penstock.extensions.sites.fetch.client import limiter_key
from penstock.extensions.sites.settings import SitesSettings
from penstock.storage.queries import load

_sql = load("leftovers", "penstock.extensions.sites")
Connection = Any
_BATCH = 1000
_UNUSED_SECONDS = 86_400.0


async def sweep_leftovers(connection: Connection) -> int:
    """A batch of each table's rows of tasks and jobs that are no more; returns how many, 0 when none is left."""
    removed = 0
    for statement in (_sql.pages, _sql.answers, _sql.orders, _sql.reservations, _sql.budgets):
        said: str = await connection.execute(statement, _BATCH)
        removed += int(said.rpartition(" ")[2])
    return removed


def install_upkeep(app: Penstock) -> None:
    @app.task(name="sites.forget", internal=True)
    async def forget() -> dict[str, int]:
        return await forget_old(app)

    app.schedule("13 4 * * *", forget, name="sites.forget", options={"unique_key": "sites.forget"})


async def forget_old(app: Penstock) -> dict[str, int]:
    """How many pages, rows of tasks that are gone, and limits were removed, a batch per transaction."""
    old_pages = await _swept(app, lambda connection: pages.sweep(connection, app.settings.of(SitesSettings).keep_days))
    leftovers = await _swept(app, sweep_leftovers)
    hosts = await limits.forget_unused(app, limiter_key(""), unused_seconds=_UNUSED_SECONDS)
    return {"pages": old_pages, "leftovers": leftovers, "limits": hosts}


async def _swept(app: Penstock, sweep: Callable[[Connection], Awaitable[int]]) -> int:
    removed = 0
    while True:
        async with app.connection() as connection:
            gone = await sweep(connection)
        if not gone:
            return removed
        removed += gone
