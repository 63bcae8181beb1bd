"""`penstock catalogue`: import, export, watch folders and buckets, and the local product catalogue."""

import typer

from penstock.extensions.catalogue.commands import files, products, watch


def register(app: typer.Typer) -> None:
    for part in (files, watch, products):
        part.register(app)
