"""`penstock link`: match the rows of a dataset against Wikidata or a reconciliation service, and review the matches."""

import typer

from penstock.extensions.linking.commands import decide, exporting, importing, matching, review, sample, status


def register(app: typer.Typer) -> None:
    """In the order of the help."""
    for part in (importing, matching, status, review, decide, exporting, sample):
        part.register(app)
