"""Commands that stand together under one name."""

from typing import Any

import typer
from typer.core import TyperGroup


class WholeSentences(TyperGroup):
    """Lists its commands with the first sentence of each, where the usual list would cut it in the middle."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = []
        for name in self.list_commands(ctx):
            described = self.get_command(ctx, name)
            text = " ".join((described.help or "" if described is not None else "").split())
            rows.append((name, f"{text.split('. ')[0].removesuffix('.')}."))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def new_app(**options: Any) -> typer.Typer:
    """Plain help and plain errors: rich would cost a tenth of a second and break lines in logs."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        **options,
    )
