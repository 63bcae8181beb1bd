"""`penstock articles`: add, import, find and change articles, and look after their index."""

import typer

from penstock.extensions.articles.commands import (
    embedders,
    generations,
    importing,
    queries,
    reindex,
    saving,
    search,
    show,
    stats,
)


def register(app: typer.Typer) -> None:
    """In the order of the help."""
    for part in (saving, importing, search, show):
        part.register(app)
    saving.register_changes(app)
    for index_part in (stats, reindex, generations, queries, embedders):
        index_part.register(app)
