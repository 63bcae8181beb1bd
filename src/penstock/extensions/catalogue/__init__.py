"""Catalogue enrichment: every row of a product list is stored, then looked up, and keeps where each value came from.

    from penstock import Penstock
    from penstock.extensions import catalogue

    app = Penstock("shop")
    app.install(catalogue.extension)

Jobs of the pipeline ``catalogue`` take rows of files or images. ``docs/catalogue.md`` says which options they know.
"""

from typing import TYPE_CHECKING

from penstock.extension import Extension

if TYPE_CHECKING:
    from penstock import Penstock
    from penstock.extensions.catalogue.enrich import Enricher

__all__ = ["extension", "install"]

extension = Extension(
    name="catalogue",
    install="penstock.extensions.catalogue.installing:install",
    # As databases of every release have it.
    owner="penstock.apps",
    migrations="penstock.extensions.catalogue",
    formerly={1: 4},
    settings="penstock.extensions.catalogue.settings:CatalogueSettings",
    router="penstock.extensions.catalogue.api:router",
    commands={
        "catalogue": (
            "Enrich product lists: the local products, imports, exports, watched folders.",
            "penstock.extensions.catalogue.commands",
        )
    },
    screens={"/catalogues": "Catalogues"},
    extra="catalogue",
)


def install(app: "Penstock") -> "Enricher":
    """Needs no database; close what it returns where the process goes on without the app."""
    enricher: Enricher = app.install(extension)
    return enricher
