"""Stored values as a person reads them: times relative and exact, text that cannot move the cursor."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from penstock.observe.wording import ago, failure
from penstock.terminal.output import shown


def when(at: datetime | None, now: datetime) -> str:
    """``3 min ago (2026-11-15 09:31:07)``; both times come from the database."""
    return "–" if at is None else f"{ago(at, now)} ({shown(at)})"


def clean(text: str) -> str:
    """Stored text may come from anybody: control characters are shown, not obeyed."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode() for sign in text
    )


def short(text: str | None, longest: int = 60) -> str:
    line = clean(" ".join((text or "").split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def error_line(error: Mapping[str, Any] | None, longest: int = 100) -> str:
    found = error or {}
    return clean(failure(found.get("type"), found.get("message"), longest)) or "–"


def as_json(value: Any) -> str:
    """A stored value, indented for people."""
    import orjson

    return clean(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())


def fields(pairs: Mapping[str, str]) -> str:
    """A block of ``name   value`` lines."""
    width = max(len(name) for name in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs.items())
