"""`penstock link`: match the rows of a dataset against Wikidata or a reconciliation service, and review the matches."""

import typer

from penstock.extensions.linking.commands import decide, importing, matching, review


def register(app: typer.Typer) -> None:
    """In the order of the help."""
    importing.register_import(app)
    for part in (matching, review, decide, importing):
        part.register(app)
