"""`penstock sites`: add websites, watch them being analysed, edit their prompts, report."""

import typer

from penstock.cli import sites_add, sites_prompts, sites_report, sites_sample, sites_status


def register(app: typer.Typer) -> None:
    for part in (sites_add, sites_status, sites_report, sites_prompts, sites_sample):
        part.register(app)
