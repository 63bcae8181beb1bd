"""`penstock link`: match the rows of a dataset against Wikidata or a reconciliation service, and review the matches."""

import typer

from penstock.cli import (
    link_decide,
    link_export,
    link_import,
    link_match,
    link_review,
    link_sample,
    link_status,
)


def register(app: typer.Typer) -> None:
    """In the order of the help."""
    for part in (link_import, link_match, link_status, link_review, link_decide, link_export, link_sample):
        part.register(app)
