"""`penstock limits`: fleet-wide budgets per key."""

from dataclasses import asdict
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from penstock.terminal.command import command
from penstock.terminal.output import Column, duration
from penstock.terminal.pages import actor
from penstock.terminal.readable import clean, short
from penstock.terminal.session import Session

Key = Annotated[str, typer.Argument(metavar="KEY", help="What is limited: a provider, a host, a tenant.")]
RateOption = Annotated[float, typer.Option("--rate", help="Permits per second.")]
BurstOption = Annotated[int, typer.Option("--burst", help="Permits that may be used at once after a rest.")]
CircuitFailuresOption = Annotated[
    int | None,
    typer.Option("--circuit-failures", min=0, help="Open the circuit after so many failures in a row; 0: no circuit."),
]
CircuitSecondsOption = Annotated[
    float | None, typer.Option("--circuit-seconds", help="How long it stays open before one call is tried.")
]
SecondsOption = Annotated[float, typer.Option("--seconds", min=0, help="How long nobody gets a permit.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Shown to whoever asks why.")]

EMPTY = "No limits yet. Set one: `penstock limits set KEY --rate 5`; handlers use it as ctx.limiter(KEY)."

# There may be a key per host; among so many nobody is told what is near.
_COMPARED = 5_000


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(session: Session) -> None:
        """What is left of every budget right now, and what holds a key up."""
        rows = [_row(view) for view in await (await session.app()).insight.limits()]
        session.out.table(rows, COLUMNS, empty=EMPTY)

    @command(app, "set")
    async def set_limit(
        session: Session,
        key: Key,
        rate: RateOption,
        burst: BurstOption = 1,
        circuit_failures: CircuitFailuresOption = None,
        circuit_seconds: CircuitSecondsOption = None,
    ) -> None:
        """Limit a key, or change its limit; what was used stays used."""
        circuit: dict[str, Any] = {"circuit_failures": circuit_failures, "circuit_seconds": circuit_seconds}
        known = [view.key for view in await (await session.app()).insight.limits(limit=_COMPARED)]
        await (await session.app()).control.limits.configure(key, rate, burst, by=actor(), **circuit)
        session.out.show(
            {"key": key, "rate": rate, "burst": burst, **circuit},
            f"{key}: {rate:g} per second, up to {burst:,} at once{_said(circuit_failures, circuit_seconds)}.",
        )
        if len(known) < _COMPARED and key not in known:
            session.out.say(_new(key, known))

    @command(app)
    async def remove(session: Session, key: Key) -> None:
        """Neither limited nor blocked any more."""
        await (await session.app()).control.limits.remove(key, by=actor())
        session.out.show({"key": key, "removed": True}, f"{key} is not limited any more.")

    @command(app)
    async def block(session: Session, key: Key, seconds: SecondsOption, reason: ReasonOption = None) -> None:
        """Close a key for everybody, as an answer 429 would; a longer block stays."""
        left = await (await session.app()).control.limits.block(key, seconds, by=actor(), reason=reason)
        session.out.show({"key": key, "blocked_seconds": left}, f"{key} is closed for {duration(left)}.")


def _row(view: Any) -> dict[str, Any]:
    fields = asdict(view)
    del fields["version"], fields["since"]
    return fields


def _new(key: str, known: list[str]) -> str:
    """A limit of a key that no handler asks for does nothing, and a slip of the pen looks just like one."""
    said = f"{key} is new here: it holds for handlers that ask for ctx.limiter({key!r}), or an application's own key."
    near = get_close_matches(key, known, n=3, cutoff=0.5)
    return f"{said} Near to it are: {clean(', '.join(near))}." if near else said


def _said(failures: int | None, seconds: float | None) -> str:
    if failures is None:
        return ""
    if not failures:
        return "; no circuit"
    return f"; after {failures:,} failures in a row nobody calls for {duration(seconds or 0)}"


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
    Column(key="circuit", title="circuit", show=lambda value: value or "–"),
    Column(key="store", title="counted in"),
)
