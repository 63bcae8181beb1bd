"""`penstock sites`: add websites, watch them being analysed, edit their prompts, report."""

import typer

from penstock.extensions.sites.commands import add, prompts, sample, status


def register(app: typer.Typer) -> None:
    for part in (add, status, prompts, sample):
        part.register(app)
