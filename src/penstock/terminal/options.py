"""The options every command takes, and what they add up to."""

import enum
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from penstock.config import Settings


class Format(enum.StrEnum):
    text = "text"
    json = "json"


# One declaration for all commands. None means not given: an option after the command wins over one before it.
ANNOTATIONS: dict[str, Any] = {
    "output": Annotated[Format | None, typer.Option("--output", "-o", help="text for people, json for programs.")],
    "app": Annotated[
        str | None,
        typer.Option("--app", metavar="MODULE:NAME", is_eager=True, help="The application; also PENSTOCK_APP."),
    ],
    "database_url": Annotated[
        str | None, typer.Option("--database-url", metavar="URL", help="PostgreSQL 15+; also PENSTOCK_DATABASE_URL.")
    ],
    "home": Annotated[
        Path | None, typer.Option("--home", metavar="FOLDER", help="Of the embedded server; also PENSTOCK_HOME.")
    ],
    "verbose": Annotated[bool | None, typer.Option("--verbose", "-v", help="Say more, on stderr.")],
    "quiet": Annotated[bool | None, typer.Option("--quiet", "-q", help="Only data and errors.")],
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was given on the command line. ``settings`` adds the environment and checks everything."""

    output: Format | None = None
    app: str | None = None
    database_url: str | None = None
    home: Path | None = None
    verbose: bool | None = None
    quiet: bool | None = None

    def over(self, before: "Options") -> "Options":
        """These, and where they say nothing, those."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        return Options(**{name: getattr(before, name) if value is None else value for name, value in mine.items()})

    @property
    def json(self) -> bool:
        return self.output is Format.json

    @property
    def overrides(self) -> dict[str, Any]:
        """The settings that were given here, for ``config.load`` and ``config.origin``."""
        return {"app": self.app, "database_url": self.database_url, "home": self.home}

    @cached_property
    def settings(self) -> "Settings":
        return self.load()

    def load(self, **more: Any) -> "Settings":
        """The settings, with options of one command on top. -v and -q choose how much is logged."""
        from penstock.config import load

        level = "debug" if self.verbose else "warning" if self.quiet else None
        return load(**self.overrides, log_level=level, **more)
