"""Files as people bring them: CSV, XLSX, or JSON rows, with columns that can be stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from penstock.apps.record_linking.dataset import Dataset, read_file, read_rows
from penstock.intake import xlsx_rows
from penstock.intake.capped import Caps
from penstock.intake.refused import FileRefused

# JSON is read whole; larger datasets come as CSV or XLSX.
MOST_JSON_BYTES = 32 * 1024 * 1024
_LONGEST_COLUMN = 200


def is_json(name: str) -> bool:
    return name.lower().endswith(".json")


def read_path(path: Path, name: str, *, safe: bool = False, caps: Caps = xlsx_rows.CAPS) -> Dataset:
    """``name``: what the file was called; one that ends in .json holds an array of objects. ``safe``: it is a CSV of
    that form, as exports write it. ``caps``: of what reads a workbook. Blocks while it reads."""
    if is_json(name):
        return read_objects(_parsed(path))
    return _checked(read_file(path, safe=safe, caps=caps))


def read_objects(rows: Sequence[Any]) -> Dataset:
    if not rows:
        raise FileRefused("there are no rows.", "Give at least one.")
    return _checked(read_rows(rows))


def _parsed(path: Path) -> list[Any]:
    size_bytes = path.stat().st_size
    if size_bytes > MOST_JSON_BYTES:
        raise FileRefused(
            f"the JSON has {size_bytes:,} bytes.", f"At most {MOST_JSON_BYTES:,} are read; bring more as CSV or XLSX."
        )
    data = path.read_bytes()
    if not data:
        raise FileRefused("the file is empty.", "Give a file with at least one row.")
    try:
        rows = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FileRefused(f"it is not JSON ({error}).", "Give an array of objects, in UTF-8.") from None
    if not isinstance(rows, list):
        raise FileRefused("the JSON is no array.", 'Give an array of objects, such as [{"name": "…"}].')
    return rows


def _checked(dataset: Dataset) -> Dataset:
    """Names of columns are shown, stored and asked for: what cannot be is refused here."""
    if not dataset.columns:
        raise FileRefused("there are no columns.", 'Name them in the first row, or as keys: {"name": "…"}.')
    for column in dataset.columns:
        if len(column) > _LONGEST_COLUMN:
            raise FileRefused(
                f"the name of column {column[:50]!r} has {len(column):,} characters.",
                f"Use at most {_LONGEST_COLUMN}.",
            )
        if not column.strip() or any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in column):
            raise FileRefused(f"the name of column {column!r} is empty or cannot be stored.", "Rename it.")
    return dataset
