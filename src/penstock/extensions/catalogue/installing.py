"""What catalogue enrichment declares in an application: its pipeline and its upkeep."""

from typing import Any

from penstock import Context, Penstock
from penstock.errors import PermanentError
from penstock.extensions.catalogue.enrich import RESULT_COLUMNS, Enricher
from penstock.extensions.catalogue.names import PIPELINE
from penstock.extensions.catalogue.offer import offer_of
from penstock.extensions.catalogue.upkeep import install_upkeep


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
