"""`penstock articles`: add, import, find and change articles, and look after their index."""

import typer

from penstock.extensions.articles.commands import generations, importing, saving, search, stats


def register(app: typer.Typer) -> None:
    """In the order of the help."""
    for part in (saving, importing, search):
        part.register(app)
    saving.register_changes(app)
    for index_part in (stats, generations):
        index_part.register(app)
