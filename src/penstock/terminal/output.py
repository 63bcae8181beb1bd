"""Data on stdout, everything else on stderr.

``emit`` writes one JSON document, ``table`` rows for people (or the same rows as JSON), ``say`` a remark.
"""

import io
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO

from penstock.terminal.progress import Progress, duration

__all__ = ["Column", "Output", "Progress", "duration", "shown", "table_text", "titled", "write_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table. ``show`` makes text of the value; numbers are set to the right."""

    key: str
    title: str
    right: bool = False
    show: Callable[[Any], str] | None = None

    def text(self, row: Mapping[str, Any]) -> str:
        value = row.get(self.key)
        return self.show(value) if self.show is not None else shown(value)


class Output:
    """What a command prints through. ``json`` and ``quiet`` come from the options."""

    def __init__(
        self,
        *,
        json: bool = False,
        quiet: bool = False,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.json = json
        self.quiet = quiet
        self._stdout = stdout
        self._stderr = stderr

    @property
    def stdout(self) -> TextIO:
        """Looked up late, because tests and shells put others in their place."""
        return self._stdout or sys.stdout

    @property
    def stderr(self) -> TextIO:
        return self._stderr or sys.stderr

    def emit(self, data: Any) -> None:
        """One JSON document and a line end."""
        import orjson

        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z | (orjson.OPT_INDENT_2 if self.stdout.isatty() else 0)
        self.stdout.write(orjson.dumps(data, default=str, option=options).decode() + "\n")
        self.stdout.flush()

    def show(self, data: Any, text: str | Callable[[], str]) -> None:
        """The data as JSON, or the text for people."""
        if self.json:
            self.emit(data)
        else:
            self.stdout.write((text if isinstance(text, str) else text()).rstrip("\n") + "\n")
            self.stdout.flush()

    def table(
        self,
        rows: Iterable[Mapping[str, Any]],
        columns: Sequence[Column | str],
        *,
        empty: str = "Nothing here.",
    ) -> None:
        """As JSON the rows with all their keys. ``empty`` is said on stderr and should teach a next step."""
        rows = list(rows)
        if self.json:
            self.emit(rows)
        elif not rows:
            self.say(empty)
        else:
            described = [column if isinstance(column, Column) else titled(column) for column in columns]
            write_table(self.stdout, rows, described)

    def say(self, line: str) -> None:
        """A remark for people, on stderr; -q leaves it out."""
        if not self.quiet:
            self.stderr.write(line + "\n")
            self.stderr.flush()

    def warn(self, line: str) -> None:
        """What nobody should miss: on stderr, also with -q."""
        self.stderr.write(f"penstock: warning: {line}\n")
        self.stderr.flush()

    def progress(self, total: int | None, clock: Callable[[], float] = time.monotonic) -> "Progress":
        return Progress(self.stderr, total, quiet=self.quiet, clock=clock)


def titled(key: str) -> Column:
    """A column by its key alone."""
    return Column(key=key, title=key.replace("_", " "))


def shown(value: Any) -> str:
    """A value in a cell: thousands separated, times in local time, nothing as a dash."""
    match value:
        case None | "":
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
        case datetime():
            return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        case list() | tuple():
            return ", ".join(str(one) for one in value) or "–"
        case _:
            return str(value)


def table_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> str:
    """A plain table as a part of a longer text."""
    text = io.StringIO()
    write_table(text, rows, columns)
    return text.getvalue().rstrip("\n")


def write_table(stdout: TextIO, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> None:
    """On a terminal with rich, cut to its width; elsewhere plain, aligned and never cut."""
    cells = [[" ".join(column.text(row).split()) for column in columns] for row in rows]
    right = [column.right or all(isinstance(row.get(column.key), int | float) for row in rows) for column in columns]
    if stdout.isatty():
        _rich_table(stdout, cells, columns, right)
    else:
        _plain_table(stdout, cells, columns, right)


def _rich_table(stdout: TextIO, cells: list[list[str]], columns: Sequence[Column], right: Sequence[bool]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column, to_right in zip(columns, right, strict=True):
        table.add_column(column.title, justify="right" if to_right else "left", no_wrap=True, overflow="ellipsis")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=stdout, highlight=False).print(table)


def _plain_table(stdout: TextIO, cells: list[list[str]], columns: Sequence[Column], right: Sequence[bool]) -> None:
    lines = [[column.title for column in columns], *cells]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        padded = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ]
        stdout.write("  ".join(padded).rstrip() + "\n")
    stdout.flush()
