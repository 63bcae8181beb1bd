"""Lines of a CSV file that are written in Python."""

import csv
import io
from collections.abc import Sequence

_BREAK = "\r\n"


def csv_line(values: Sequence[str], *, quote_all: bool = False) -> bytes:
    """One row, ended by a line feed. A carriage return inside of a cell has to be quoted as well: readers take it for
    the end of a row. The writer of Python quotes only what its own line break is made of, so it gets both."""
    text = io.StringIO()
    if quote_all:
        csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=_BREAK).writerow(values)
    else:
        csv.writer(text, lineterminator=_BREAK).writerow(values)
    return f"{text.getvalue().removesuffix(_BREAK)}\n".encode()
