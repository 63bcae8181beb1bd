"""What a check returns, and what it may look at."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from penstock.config import Settings


class Health(StrEnum):
    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``fix`` is a command or a sentence, and missing only where nothing is wrong."""

    check: str
    health: Health
    finding: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """``home`` is the folder of the embedded server, None for a server of the user's own."""

    connection: Any
    settings: Settings
    home: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """``bare``: it looks at nothing that Penstock's migrations make."""

    name: str
    look: Callable[[Patient], Awaitable[tuple[Health, str, str | None]]]
    bare: bool = False


Result = tuple[Health, str, str | None]


def fine(sentence: str) -> Result:
    return Health.OK, sentence, None


def warn(sentence: str, fix: str) -> Result:
    return Health.WARN, sentence, fix


def bad(sentence: str, fix: str) -> Result:
    return Health.BAD, sentence, fix
