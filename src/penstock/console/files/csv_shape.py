"""How a CSV file is written: delimiter, quotes, header. Found out from its beginning, or given."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.console.files.refused import FileRefused

DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 200
# What a heading hardly ever is: a number, a date, an address, a long sentence.
_VALUE = re.compile(
    r"\s*(?:[-+]?[\d.,\s]*\d[\d.,\s]*%?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|(?:https?|ftp)://.*|\S+@\S+\.\S+)\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvShape:
    """``columns`` are the headings, or made-up names where ``has_header`` is false."""

    encoding: str
    delimiter: str
    quote: str
    has_header: bool
    columns: tuple[str, ...]


def shape_of(
    text: str, *, encoding: str, whole: bool, delimiter: str | None, header: bool | None, most_columns: int
) -> CsvShape:
    """``text``: the decoded beginning; ``whole`` says that it is the whole file."""
    quote = _quote(text)
    chosen = delimiter or _delimiter(text, quote, whole)
    rows = sample(text, chosen, quote, whole)
    if not rows:
        raise FileRefused("the file holds no rows.", "Upload a file with a header and at least one row.")
    has_header, columns = columns_of(rows, whole=whole, header=header, most_columns=most_columns)
    return CsvShape(encoding=encoding, delimiter=chosen, quote=quote, has_header=has_header, columns=columns)


def columns_of(
    rows: Sequence[Sequence[str]], *, whole: bool, header: bool | None, most_columns: int
) -> tuple[bool, tuple[str, ...]]:
    """Whether the first row is a header, and what the columns are called: the same for every kind of table.

    ``whole``: no rows follow these.
    """
    width = max(len(row) for row in rows)
    if width > most_columns:
        raise FileRefused(f"the file has {width:,} columns; at most {most_columns:,} are taken.", "Split it.")
    has_header = _looks_like_header(rows) if header is None else header
    if whole and has_header and len(rows) == 1:
        raise FileRefused("the file holds a header and no rows.", "Upload a file with at least one row.")
    columns = tuple(_trimmed(rows[0])) if has_header else tuple(f"Column {n}" for n in range(1, width + 1))
    _check(columns)
    return has_header, columns


def sample(text: str, delimiter: str, quote: str, whole: bool) -> list[list[str]]:
    """The first rows; where the text is cut, its last row is left out. Blank lines are no rows."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                return rows[:_SAMPLE_ROWS]
    except csv.Error:
        pass  # the reading proper names the row
    return rows if whole or len(rows) < 2 else rows[:-1]


def _quote(text: str) -> str:
    """Single quotes only where they enclose cells and double ones do not."""
    if '"' in text:
        return '"'
    enclosed = len(re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|]|\r?\n|$)", text, re.MULTILINE))
    lines = max(text.count("\n"), 1)
    return "'" if enclosed >= lines else '"'


def _delimiter(text: str, quote: str, whole: bool) -> str:
    """The one that cuts most rows into the same number of cells; of equals, the one with more cells."""
    best, chosen = (0.0, 1), ","
    for candidate in DELIMITERS:
        widths = Counter(len(row) for row in sample(text, candidate, quote, whole))
        if not widths:
            continue
        width, rows = widths.most_common(1)[0]
        score = (round(rows / widths.total(), 2), width)
        if width > 1 and score > best:
            best, chosen = score, candidate
    return chosen


def _looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    first = _trimmed(rows[0])
    if not first or any(not cell.strip() or len(cell) > 200 or _VALUE.fullmatch(cell) for cell in first):
        return False
    return len(rows) < 2 or rows[1] != rows[0]


def _trimmed(row: Sequence[str]) -> list[str]:
    """Without empty headings at the end: a delimiter behind the last column, as some programs write it."""
    cells = list(row)
    while len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return cells


def _check(columns: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for number, name in enumerate(columns, start=1):
        if not name.strip():
            raise FileRefused(f"column {number} has no heading.", "Give it one, or say that there is no header.")
        if name in seen:
            problem = f"the columns {seen[name]} and {number} are both called {name!r}."
            raise FileRefused(problem, "Rename one of them.", column=name)
        seen[name] = number
