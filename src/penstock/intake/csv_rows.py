"""Rows of a CSV file, every cell the original text, in bounded memory whatever the file holds."""

import codecs
import csv
from collections.abc import Callable, Iterator

from penstock.intake.bounded import BoundedText, EndlessRow
from penstock.intake.csv_shape import CsvShape, shape_of
from penstock.intake.encoding import encoding_of
from penstock.intake.refused import FileRefused

HEAD_BYTES = 1024 * 1024
MOST_COLUMNS = 2000
# A row is stored as JSON of at most 64 KiB; one that is longer than this cannot become one.
ROW_BYTES = 256 * 1024
_FOUND_OUT = "Leave the encoding out, and it is found out."
_QUOTES = "Close the quote, or double quotes inside a quoted cell."


def shape_of_head(
    head: bytes,
    *,
    whole: bool,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    most_columns: int = MOST_COLUMNS,
) -> CsvShape:
    """From the first bytes of a file; raises :class:`FileRefused` where they cannot be a CSV."""
    found = encoding_of(head, encoding)
    text = _decoded(head, found, whole)
    if "\0" in text:
        raise FileRefused("the file holds NUL characters, so it is not a CSV.", "Export it again as CSV.")
    return shape_of(text, encoding=found, whole=whole, delimiter=delimiter, header=header, most_columns=most_columns)


def _decoded(head: bytes, encoding: str, whole: bool) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(head, final=whole)
    except UnicodeDecodeError as error:
        problem = f"the file is not {encoding}: byte {error.object[error.start]:#04x} at {error.start:,}."
        raise FileRefused(problem, _FOUND_OUT) from None
    except UnicodeError as error:  # UTF-16 without its mark
        raise FileRefused(f"the file is not {encoding}: {error}.", _FOUND_OUT) from None


def read(next_chunk: Callable[[], bytes], shape: CsvShape, *, row_bytes: int = ROW_BYTES) -> Iterator[list[str]]:
    """The rows behind the header. Blank lines are left out: no program writes them for a row."""
    text = BoundedText(next_chunk, encoding=shape.encoding, limit_bytes=row_bytes)
    csv.field_size_limit(max(csv.field_size_limit(), row_bytes))
    reader = csv.reader(text.lines, delimiter=shape.delimiter, quotechar=shape.quote, strict=True)
    number = 0 if shape.has_header else 1
    try:
        for cells in reader:
            text.row_read()
            if not cells:
                continue
            if number:
                if text.may_hold_nul:
                    _check(cells, number)
                yield cells
            number += 1
    except EndlessRow:
        problem = f"it is longer than {row_bytes:,} bytes, or a quoted cell in it does not end."
        raise FileRefused(problem, _QUOTES, row=max(number, 1)) from None
    except UnicodeDecodeError as error:
        problem = f"byte {error.object[error.start]:#04x} is not {shape.encoding}, which the rows before it are."
        raise FileRefused(
            problem, "Save the file as UTF-8, or say which encoding it has.", row=max(number, 1)
        ) from None
    except csv.Error as error:
        raise FileRefused(f"{_told(error)}.", _QUOTES, row=max(number, 1)) from None


def _check(cells: list[str], number: int) -> None:
    for place, cell in enumerate(cells, start=1):
        if "\0" in cell:
            raise FileRefused(f"cell {place} holds a NUL character.", "Remove it.", row=number)


def _told(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return "a quoted cell is not closed before the file ends"
    if "expected after" in text:
        return "there is text behind a closing quote"
    if "field larger" in text:
        return "a cell is too long"
    return text
