"""What catalogue enrichment declares in an application: its pipeline and its upkeep."""

from typing import Any

from penstock import Context, Penstock
from penstock.control import preferences
from penstock.errors import PermanentError
from penstock.extensions.catalogue import search_events
from penstock.extensions.catalogue.enrich import RESULT_COLUMNS, Enricher
from penstock.extensions.catalogue.offer import PIPELINE, offer_of

_DAY_SECONDS = 86_400.0
_BATCH = 10_000


def install(app: Penstock) -> Enricher:
    """Declare the pipeline. Needs no database; close what it returns where the process goes on without the app."""
    enricher = Enricher(app)
    offer = offer_of(lambda: app.settings)
    pipeline = app.pipeline(PIPELINE, result_columns=RESULT_COLUMNS, offer=offer)

    @pipeline.stage("enrich")
    async def enrich(
        ctx: Context, row: int, cells: list[str] | None = None, image: dict[str, Any] | None = None
    ) -> Any:
        """``row`` counts from 1, as people see it in the grid."""
        if image is not None:
            return await enricher.enrich_image(ctx, image)
        if cells is None:
            raise PermanentError(f"Row {row} holds neither cells nor an image. Submit it again with one of them.")
        return await enricher.enrich_row(ctx, cells)

    install_upkeep(app)
    return enricher


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
