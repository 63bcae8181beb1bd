"""Rows and images of files as the inputs of tasks, in JSON."""

from collections.abc import Generator, Iterable

import orjson

from penstock.console.files.export.formulas import unguard
from penstock.console.files.refused import FileRefused
from penstock.model import MAX_INPUT_BYTES

_LONG_ROW = "Shorten its cells, or leave out columns that are not needed."


def of_rows(rows: Iterable[list[str]], *, safe: bool, skip: int = 0) -> Generator[str]:
    """Numbered from 1, as people see them. ``safe``: undo the apostrophes of a *safe* export. ``skip``: rows that are
    stored already."""
    dumps = orjson.dumps
    for number, cells in enumerate(rows, start=1):
        if number <= skip:
            continue
        text = dumps({"row": number, "cells": [unguard(cell) for cell in cells] if safe else cells})
        if len(text) > MAX_INPUT_BYTES:
            problem = f"it is {len(text):,} bytes long; at most {MAX_INPUT_BYTES:,} are kept."
            raise FileRefused(problem, _LONG_ROW, row=number)
        yield text.decode()


def of_image(row: int, file_id: int, name: str) -> str:
    return orjson.dumps({"row": row, "image": {"file_id": file_id, "name": name}}).decode()
