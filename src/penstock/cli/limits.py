"""`penstock limits`: fleet-wide budgets per key."""

from dataclasses import asdict
from typing import Annotated

import typer

from penstock.cli.command import command
from penstock.cli.output import Column, duration
from penstock.cli.pages import actor
from penstock.cli.readable import clean, short
from penstock.cli.session import Session

Key = Annotated[str, typer.Argument(metavar="KEY", help="What is limited: a provider, a host, a tenant.")]
RateOption = Annotated[float, typer.Option("--rate", help="Permits per second.")]
BurstOption = Annotated[int, typer.Option("--burst", help="Permits that may be used at once after a rest.")]
SecondsOption = Annotated[float, typer.Option("--seconds", min=0, help="How long nobody gets a permit.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Shown to whoever asks why.")]

EMPTY = "No limits yet. Set one: `penstock limits set KEY --rate 5`; handlers use it as ctx.limiter(KEY)."


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(session: Session) -> None:
        """What is left of every budget right now, and what holds a key up."""
        from penstock.engine.steering import limits

        rows = [asdict(view) for view in await limits.listing(await session.app())]
        session.out.table(rows, COLUMNS, empty=EMPTY)

    @command(app, "set")
    async def set_limit(session: Session, key: Key, rate: RateOption, burst: BurstOption = 1) -> None:
        """Limit a key, or change its limit; what was used stays used."""
        from penstock.engine.steering import limits

        await limits.configure(await session.app(), key, rate, burst, by=actor())
        session.out.show(
            {"key": key, "rate": rate, "burst": burst}, f"{key}: {rate:g} per second, up to {burst:,} at once."
        )

    @command(app)
    async def remove(session: Session, key: Key) -> None:
        """Neither limited nor blocked any more."""
        from penstock.engine.steering import limits

        await limits.remove(await session.app(), key, by=actor())
        session.out.show({"key": key, "removed": True}, f"{key} is not limited any more.")

    @command(app)
    async def block(session: Session, key: Key, seconds: SecondsOption, reason: ReasonOption = None) -> None:
        """Close a key for everybody, as an answer 429 would; a longer block stays."""
        from penstock.engine.steering import limits

        left = await limits.block(await session.app(), key, seconds, by=actor(), reason=reason)
        session.out.show({"key": key, "blocked_seconds": left}, f"{key} is closed for {duration(left)}.")


def _left(value: int | None) -> str:
    return "–" if value is None else f"{max(value, 0):,}"


COLUMNS = (
    Column(key="key", title="key", show=lambda value: short(value, 50)),
    Column(key="rate", title="per second", right=True, show=lambda value: "–" if value is None else f"{value:g}"),
    Column(key="burst", title="burst"),
    Column(key="available", title="left now", right=True, show=_left),
    Column(
        key="blocked_seconds", title="opens in", right=True, show=lambda value: duration(value) if value > 0 else "open"
    ),
    Column(key="blocked_reason", title="closed because", show=lambda value: clean(value or "–")),
)
