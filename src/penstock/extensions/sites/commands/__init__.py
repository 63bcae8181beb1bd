"""`penstock sites`: add websites, watch them being analysed, edit their prompts, report."""

import typer

from penstock.extensions.sites.commands import (
    add,
    prompts,
    report,
    sample,
    status,
)


def register(app: typer.Typer) -> None:
    for part in (add, status, report, prompts, sample):
        part.register(app)
