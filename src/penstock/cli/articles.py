"""`penstock articles`: add, import, find and change articles, and look after their index."""

import typer

from penstock.cli import (
    articles_add,
    articles_edit,
    articles_embedders,
    articles_generations,
    articles_import,
    articles_list,
    articles_queries,
    articles_reindex,
    articles_sample,
    articles_search,
    articles_show,
    articles_stats,
)


def register(app: typer.Typer) -> None:
    """In the order of the help."""
    for part in (articles_add, articles_import, articles_sample, articles_search, articles_list, articles_show):
        part.register(app)
    articles_edit.register(app)
    for part in (articles_stats, articles_reindex, articles_generations, articles_queries, articles_embedders):
        part.register(app)
