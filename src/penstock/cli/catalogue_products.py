"""`penstock catalogue`: products."""

import typer


def register(app: typer.Typer) -> None:
    """Adds its commands to the group."""
