"""The addresses of a CSV file: the column that is called so, else the first that holds some."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence

from penstock.intake.csv_rows import MOST_COLUMNS
from penstock.intake.csv_shape import sample, shape_of
from penstock.intake.encoding import encoding_of
from penstock.intake.refused import FileRefused

_MOST_BYTES = 32 * 1024 * 1024
_LONGEST_CELL = 64 * 1024
# As people call it; of several the one that comes first here.
_HEADINGS = ("url", "website", "domain", "homepage", "site", "web", "webseite", "sitio web", "site web", "link")
_EXPECTED = "Give a text or CSV file in UTF-8: one address per line, or a column called `url`."
Meant = Callable[[str], bool]


def cells(data: bytes, meant: Meant) -> Iterator[tuple[int, str]]:
    """(line, text) of every cell of the column that is not empty. ``meant``: whether a text was meant as an address."""
    text = _text(data)
    shape = shape_of(text, encoding="utf-8", whole=True, delimiter=None, header=False, most_columns=MOST_COLUMNS)
    first = sample(text, shape.delimiter, shape.quote, whole=True)
    column, with_heading = _column(first, meant)
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=shape.delimiter, quotechar=shape.quote)
    begins, rows = 1, 0
    try:
        for row in reader:
            line, begins = begins, reader.line_num + 1
            rows += bool(row)
            if row and not (rows == 1 and with_heading) and column < len(row) and row[column].strip():
                yield line, row[column].strip()
    except csv.Error as error:
        raise FileRefused(f"line {begins:,} is no CSV ({error}).", "Export the file again.") from None


def _text(data: bytes) -> str:
    if len(data) > _MOST_BYTES:
        raise FileRefused(f"the file has {len(data):,} bytes; at most {_MOST_BYTES:,} are read.", "Split it.")
    if not data.strip():
        raise FileRefused("the file is empty.", _EXPECTED)
    try:
        encoding = encoding_of(data)
    except FileRefused as error:
        # Whoever gives a list of addresses has no way to name an encoding.
        raise FileRefused(error.problem, _EXPECTED) from None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FileRefused(f"byte {error.start:,} of the file is not {encoding}.", "Save it as UTF-8.") from None
    if "\0" in text:
        raise FileRefused("the file holds NUL characters, so it is not a CSV.", _EXPECTED)
    if not text.strip("\ufeff \t\r\n"):
        raise FileRefused("the file is empty.", _EXPECTED)
    return text


def _column(rows: Sequence[Sequence[str]], meant: Meant) -> tuple[int, bool]:
    """Which column, and whether its first row is a heading."""
    headings = [cell.strip().casefold() for cell in rows[0]]
    for heading in _HEADINGS:
        if heading in headings:
            return headings.index(heading), True
    width = max(len(row) for row in rows)
    for column in range(width):
        held = [row[column] for row in rows if column < len(row) and row[column].strip()]
        if sum(map(meant, held)) * 2 > len(held[1:]) and any(map(meant, held)):
            return column, not (column < len(rows[0]) and meant(rows[0][column]))
    raise FileRefused(
        "no column of the file holds addresses of websites.", "Call the column with the addresses `url` in its heading."
    )
