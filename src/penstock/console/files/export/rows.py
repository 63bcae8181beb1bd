"""Stored rows as values, for files that tell numbers from text. The server writes CSV by itself; this is for XLSX."""

import json
from collections.abc import Callable
from typing import Any

import orjson

from penstock.console.files.export.layout import Column, Layout
from penstock.lifecycle import State

Value = str | int | float | None
_EXACT_INTEGER = 2**53
_NAMES = {int(state): state.name for state in State}


class RowReader:
    """``read`` turns a stored row into its cells, in the order of the layout."""

    def __init__(self, layout: Layout) -> None:
        kinds = [column.kind for column in layout.columns]
        self._width = kinds.count("cell")
        self._before = tuple(_input(column) for column in layout.columns if column.kind in ("image", "argument"))
        self._keys = tuple(column.key for column in layout.columns if column.kind == "result")
        other = [column.key or "[]" for column in layout.columns if column.kind == "other"]
        self._has_other = bool(other)
        self._named = frozenset(json.loads(other[0])) if other else frozenset[str]()
        self._whole = "whole" in kinds
        self._counted = "width" in kinds

    def read(self, stored: Any) -> list[Value]:
        _, input_text, result_text, error, status = stored
        given = orjson.loads(input_text)
        result = None if result_text is None else orjson.loads(result_text)
        columns = result.get("columns") if type(result) is dict else None
        row, count = self._inputs(given)
        if self._keys:
            get = columns.get if type(columns) is dict else _nothing
            row += [value if type(value) is str else plain(value) for value in map(get, self._keys)]
        if self._whole:
            row.append(None if result is None else result_text)
        if self._has_other:
            row.append(self._rest(result, columns))
        row.append(_NAMES[status])
        row.append(error)
        if self._counted:
            row.append(count)
        return row

    def _inputs(self, given: Any) -> tuple[list[Value], int | None]:
        """The columns that came in, and how many cells there were."""
        cells = given.get("cells") if self._width and type(given) is dict else None
        count = len(cells) if type(cells) is list else None
        row: list[Value] = cells if type(cells) is list else []
        if count != self._width:
            row += [None] * (self._width - (count or 0))
        if self._before:
            row += [take(given) for take in self._before]
        return row, count

    def _rest(self, result: Any, columns: Any) -> Value:
        if type(columns) is dict:
            if columns.keys() <= self._named:
                return None
            result = {key: value for key, value in columns.items() if key not in self._named} or None
        return None if result is None else stored_text(result)


def plain(value: Any) -> Value:
    """Text stays text and numbers numbers. What a spreadsheet has no exact number for is text too."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return value if abs(value) <= _EXACT_INTEGER else str(value)
    return value if isinstance(value, float) else stored_text(value)


def stored_text(value: Any) -> str:
    """JSON as PostgreSQL writes it, so that all exports show the same."""
    return json.dumps(value, ensure_ascii=False)


def _input(column: Column) -> Callable[[Any], Value]:
    key = column.key or ""
    if column.kind == "image":
        return lambda given: plain((given.get("image") or {}).get("name"))
    return lambda given: plain(given.get(key)) if isinstance(given, dict) else None


def _nothing(key: Any) -> None:
    return None
