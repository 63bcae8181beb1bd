"""Options and output that every paged list shares."""

import getpass
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from penstock.errors import UsageError
from penstock.insight.task_views import Place
from penstock.terminal.output import Column
from penstock.terminal.session import Session

LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Rows per page.")]
AfterOption = Annotated[
    str | None, typer.Option("--after", metavar="PLACE", help="Where the page before ended, as it said.")
]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Shown to whoever asks why.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def written(place: Place | None) -> str | None:
    """A place as one word: the id, behind a time where the list is ordered by one."""
    if place is None:
        return None
    return str(place.task_id) if place.at is None else f"{place.at.isoformat()}~{place.task_id}"


def place_of(text: str | None) -> Place | None:
    if text is None:
        return None
    at, _, number = text.rpartition("~")
    try:
        place = Place(task_id=int(number), at=datetime.fromisoformat(at) if at else None)
    except ValueError:
        raise UsageError(f"--after {text!r} is not a place. Use what the page before printed.") from None
    if place.at is not None and place.at.tzinfo is None:
        raise UsageError(f"--after {text!r} has a time without a zone. Use what the page before printed.")
    return place


def show_page(
    session: Session,
    rows: Sequence[dict[str, Any]],
    following: str | None,
    columns: Sequence[Column | str],
    *,
    empty: str,
) -> None:
    """As JSON ``{"items", "next"}``; for people a table and how to see more."""
    out = session.out
    if out.json:
        out.emit({"items": rows, "next": following})
        return
    out.table(rows, columns, empty=empty if following is None else "Nothing matched in this part of the list.")
    if following is not None:
        out.say(f"There is more: add --after '{following}'.")


def actor() -> str:
    """Who did it, for the history and for whoever asks why something is paused."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):
        return "command line"


def confirmed(session: Session, question: str, *, yes: bool) -> None:
    """Asks on a terminal; elsewhere only --yes will do."""
    if not yes and not on_terminal():
        raise UsageError(f"{question} Nobody can be asked here; add --yes.")
    agreed(session, question, yes=yes)


def agreed(session: Session, question: str, *, yes: bool) -> None:
    """Asks on a terminal; elsewhere the command itself is the answer, so that scripts go on."""
    if not yes and on_terminal() and not typer.confirm(question, err=True):
        session.out.say("Nothing was changed.")
        raise typer.Exit(0)


def on_terminal() -> bool:
    return sys.stdin.isatty()
