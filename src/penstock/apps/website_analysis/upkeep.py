"""Removes old pages, what belonged to tasks that are gone, and the limits of idle hosts, once a day."""

from penstock import Penstock
from penstock.apps.website_analysis import leftovers, pages
from penstock.apps.website_analysis.fetch.client import limiter_key
from penstock.engine.steering import limits

_UNUSED_SECONDS = 86_400.0


def install_upkeep(app: Penstock) -> None:
    @app.task(name="sites.forget", internal=True)
    async def forget() -> dict[str, int]:
        return await forget_old(app)

    app.schedule("13 4 * * *", forget, name="sites.forget", options={"unique_key": "sites.forget"})


async def forget_old(app: Penstock) -> dict[str, int]:
    """How many pages, rows of tasks that are gone, and limits were removed, a batch per transaction."""
    removed = 0
    while True:
        async with app.connection() as connection:
            gone = await pages.sweep(connection, app.settings.sites_keep_days)
        removed += gone
        if gone < pages.SWEEP_BATCH:
            break
    leftovers_removed = 0
    while True:
        async with app.connection() as connection:
            gone = await leftovers.sweep(connection)
        leftovers_removed += gone
        if not gone:
            break
    hosts = await limits.forget_unused(app, limiter_key(""), unused_seconds=_UNUSED_SECONDS)
    return {"pages": removed, "leftovers": leftovers_removed, "limits": hosts}
