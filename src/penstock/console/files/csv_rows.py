"""Rows of a CSV file, every cell the original text, in bounded memory whatever the file holds."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator

from typing_extensions import Buffer

from penstock.console.files.csv_shape import CsvShape, shape_of
from penstock.console.files.encoding import encoding_of
from penstock.console.files.refused import FileRefused

_BUFFER_BYTES = 64 * 1024


class EndlessRow(Exception):
    """More bytes than a row may have were read since the last row."""


class _Chunks(io.RawIOBase):
    """Pulls chunks of any size; an empty one is the end."""

    def __init__(
        self, next_chunk: Callable[[], bytes], limit_bytes: int, check: codecs.IncrementalDecoder | None
    ) -> None:
        self._next_chunk = next_chunk
        self._check = check
        self._limit = limit_bytes + _BUFFER_BYTES
        self._rest = memoryview(b"")
        self.since_row = 0
        self.holds_nul = False
        self.holds_stray = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: Buffer, /) -> int:
        view = memoryview(target)
        if self.since_row > self._limit:
            raise EndlessRow
        if not self._rest:
            chunk = self._next_chunk()
            self.holds_nul = self.holds_nul or b"\0" in chunk
            self._look_for_strays(chunk)
            self._rest = memoryview(chunk)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self.since_row += count
        return count

    def _look_for_strays(self, chunk: bytes) -> None:
        if self._check is not None:
            try:
                self._check.decode(chunk, final=not chunk)
            except UnicodeDecodeError:
                self.holds_stray, self._check = True, None


class BoundedText:
    """Decoded text with its line ends as they are. Call ``row_read`` after each row.

    Never hands out more than one row may hold: a quote that is never closed, or a file without a line end, would
    otherwise pull the whole file into memory.
    """

    def __init__(self, next_chunk: Callable[[], bytes], *, encoding: str, limit_bytes: int) -> None:
        # Text is decoded ahead of the rows. A stray byte in UTF-8 becomes a surrogate, so that its row is known.
        is_utf8 = encoding in ("utf-8", "utf-8-sig")
        check = codecs.getincrementaldecoder(encoding)() if is_utf8 else None
        self._chunks = _Chunks(next_chunk, limit_bytes, check)
        buffered = io.BufferedReader(self._chunks, _BUFFER_BYTES)
        errors = "surrogateescape" if is_utf8 else "strict"
        self.lines = io.TextIOWrapper(buffered, encoding=encoding, errors=errors, newline="")

    def row_read(self) -> None:
        self._chunks.since_row = 0

    @property
    def needs_check(self) -> bool:
        """Whether a zero or a stray byte was read, maybe a little ahead of the rows: then each cell is worth a look."""
        return self._chunks.holds_nul or self._chunks.holds_stray


HEAD_BYTES = 1024 * 1024
MOST_COLUMNS = 2000
# A row is stored as JSON of at most 64 KiB; one that is longer than this cannot become one.
ROW_BYTES = 256 * 1024
_FOUND_OUT = "Leave the encoding out, and it is found out."
_SURROGATE = re.compile("[\udc80-\udcff]")  # a byte that is no UTF-8, as BoundedText gives it
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
    # A file that was found to be UTF-8 may hold stray bytes; reading it names their rows.
    strays = "replace" if encoding is None and found == "utf-8" else "strict"
    text = _decoded(head, found, whole, strays)
    if "\0" in text:
        raise FileRefused("the file holds NUL characters, so it is not a CSV.", "Export it again as CSV.")
    return shape_of(text, encoding=found, whole=whole, delimiter=delimiter, header=header, most_columns=most_columns)


def _decoded(head: bytes, encoding: str, whole: bool, errors: str) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)(errors).decode(head, final=whole)
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
            if text.needs_check:
                _check(cells, number, shape.encoding)
            if number:
                yield cells
            number += 1
    except EndlessRow:
        problem = f"it is longer than {row_bytes:,} bytes, or a quoted cell in it does not end."
        raise FileRefused(problem, _QUOTES, row=max(number, 1)) from None
    except UnicodeDecodeError as error:
        raise _stray(error.object[error.start], shape.encoding, number) from None
    except csv.Error as error:
        raise FileRefused(f"{_told(error)}.", _QUOTES, row=max(number, 1)) from None


def _check(cells: list[str], number: int, encoding: str) -> None:
    for place, cell in enumerate(cells, start=1):
        if "\0" in cell:
            raise FileRefused(f"cell {place} holds a NUL character.", "Remove it.", row=number)
        if (found := _SURROGATE.search(cell)) is not None:
            raise _stray(ord(found[0]) - 0xDC00, encoding, number)


def _stray(byte: int, encoding: str, number: int) -> FileRefused:
    problem = f"byte {byte:#04x} is not {encoding}, which the rows before it are."
    return FileRefused(problem, "Save the file as UTF-8, or say which encoding it has.", row=max(number, 1))


def _told(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return "a quoted cell is not closed before the file ends"
    if "expected after" in text:
        return "there is text behind a closing quote"
    if "field larger" in text:
        return "a cell is too long"
    return text
