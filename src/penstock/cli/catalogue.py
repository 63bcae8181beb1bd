"""`penstock catalogue`: import, export, watch folders and buckets, and the local product catalogue."""

import typer

from penstock.cli import catalogue_export, catalogue_import, catalogue_products, catalogue_watch


def register(app: typer.Typer) -> None:
    for part in (catalogue_import, catalogue_export, catalogue_watch, catalogue_products):
        part.register(app)
