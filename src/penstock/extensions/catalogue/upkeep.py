"""Removes search events that belong to nothing any more, once a day."""

from penstock import Penstock
from penstock.control import preferences
from penstock.extensions.catalogue import search_events

_DAY_SECONDS = 86_400.0
_BATCH = 10_000


def install_upkeep(app: Penstock) -> None:
    """They are kept as long as the tasks they belong to."""

    @app.task(name="catalogue.forget", internal=True)
    async def forget() -> int:
        return await forget_old(app)

    app.schedule("43 3 * * *", forget, name="catalogue.forget", options={"unique_key": "catalogue.forget"})


async def forget_old(app: Penstock) -> int:
    """How many were removed, a batch per transaction. Without a retention: those of jobs that somebody deleted."""
    removed = 0
    while True:
        async with app.connection() as connection:
            days = (await preferences.read(connection, app.settings))["endedItemsDays"].value
            if days is None:
                gone = await search_events.forget_orphans(connection, most=_BATCH)
            else:
                gone = await search_events.forget(connection, older_than_seconds=days * _DAY_SECONDS, most=_BATCH)
        removed += gone
        if gone < _BATCH:
            return removed
