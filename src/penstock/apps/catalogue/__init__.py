"""Catalogue enrichment: every row of a product list is stored, then looked up, and keeps where each value came from.

    from penstock import Penstock
    from penstock.apps import catalogue

    app = Penstock("shop")
    catalogue.install(app)

Jobs of the pipeline ``catalogue`` take rows of files or images. ``docs/catalogue.md`` says which options they know.
"""

from typing import TYPE_CHECKING, Any

from penstock import Context, Penstock
from penstock.apps.catalogue.enrich import RESULT_COLUMNS, Enricher
from penstock.apps.catalogue.names import PIPELINE
from penstock.apps.catalogue.offer import offer_of
from penstock.apps.catalogue.upkeep import install_upkeep
from penstock.errors import PermanentError

if TYPE_CHECKING:
    from fastapi import APIRouter

__all__ = ["PIPELINE", "RESULT_COLUMNS", "Enricher", "install", "routers"]


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


def routers() -> "list[APIRouter]":
    """What the application answers over HTTP."""
    from penstock.apps.catalogue.api import router

    return [router]
