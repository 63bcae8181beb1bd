"""`penstock articles embedders`: which embedders can be chosen, and whether they answer."""

from dataclasses import asdict
from typing import Annotated

import typer

from penstock.terminal.command import command
from penstock.terminal.output import Column
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

ProbeOption = Annotated[bool, typer.Option("--probe/--no-probe", help="Have each of them embed one short text.")]
_COLUMNS = (
    Column(key="name", title="name"),
    Column(key="kind", title="kind"),
    Column(key="model", title="model"),
    Column(key="dimensions", title="dimensions", right=True, show=lambda value: f"{value:,}" if value else "–"),
    Column(key="host", title="host", show=lambda value: clean(value or "") or "–"),
    Column(
        key="took_ms", title="answered in", right=True, show=lambda value: "–" if value is None else f"{value:g} ms"
    ),
    Column(key="problem", title="problem", show=lambda value: clean(value or "") or "–"),
)


def register(app: typer.Typer) -> None:
    @command(app)
    async def embedders(session: Session, probe: ProbeOption = True) -> int:
        """The embedders of this machine's configuration; each is tried with one short text. Exit code 1: one of them
        has a problem."""
        from penstock.extensions.articles.embedders.registry import Embedders

        known = Embedders(await session.app())
        try:
            views = known.listing()
            if probe:
                views = [await known.probe(one.name) if one.problem is None else one for one in views]
        finally:
            await known.close()
        session.out.table([asdict(view) for view in views], _COLUMNS, empty="No embedders.")
        return 1 if any(view.problem is not None for view in views) else 0
