"""Which columns an export of a job has: as they came in, then what was found, then how it ended."""

from bisect import bisect_right
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from penstock.application import Penstock
from penstock.console.storage import exports
from penstock.console.storage.exports import Page
from penstock.errors import JobNotFound
from penstock.storage import jobs

# A scan reads so many ids with one statement: a fraction of a second of one snapshot.
_WINDOW_IDS = 2_000_000
# Declared columns are trusted to be all only where that is checked; above so many rows the check would take too long,
# and the column for other results is there in any case.
_CHECKED_ROWS = 200_000
_TABLES = ("csv", "xlsx", "images", "rows")
OTHER_RESULTS = "Other results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """``kind`` says where its cells come from, ``key`` which of those; ``csv_statement`` in the SQL lists the kinds."""

    heading: str
    kind: str
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The tasks of a job up to ``last_id``, and their columns. ``edited``: the rows that a copy stands for, and the
    copy. What is edited later comes out as the row it was, closed, because its copy lies behind ``last_id``."""

    job_id: int
    last_id: int
    rows: int
    columns: tuple[Column, ...]
    edited: tuple[tuple[int, int], ...] = ()

    @property
    def headings(self) -> tuple[str, ...]:
        return tuple(column.heading for column in self.columns)

    def encoded(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def decoded(cls, data: Mapping[str, Any]) -> "Layout":
        columns = tuple(Column(**one) for one in data["columns"])
        return cls(**{**data, "columns": columns, "edited": tuple((pair[0], pair[1]) for pair in data["edited"])})


async def layout_of(app: Penstock, job_id: int) -> Layout:
    """Looks at the job as it is now; raises :class:`JobNotFound`."""
    async with app.connection() as connection:
        job = await jobs.get(connection, job_id)
        if job is None:
            raise JobNotFound(job_id)
        between = await exports.extent(connection, job_id)
        last_id = 0 if between is None else between[1]
        edited = await exports.edits(connection, job_id, last_id)
    metadata = job["metadata"] if isinstance(job["metadata"], dict) else {}
    windows = [] if between is None else [one async for one in _windows(app, job_id, *between)]
    is_table = isinstance(metadata.get("columns"), list) or metadata.get("type") in _TABLES
    if is_table:
        rows, columns = await _table(app, job_id, metadata, windows)
    else:
        rows, columns = await _items(app, job_id, windows)
    ending = [Column(heading="Status", kind="status"), Column(heading="Error", kind="error")]
    return Layout(
        job_id=job_id,
        last_id=last_id,
        rows=rows - len(edited),
        columns=unique([*columns[0], *columns[1], *ending, *columns[2]]),
        edited=tuple(edited),
    )


Windows = Sequence[tuple[int, int]]
Parts = tuple[list[Column], list[Column], list[Column]]


async def _windows(app: Penstock, job_id: int, first_id: int, last_id: int) -> AsyncIterator[tuple[int, int]]:
    """Ranges of ids that hold all tasks of the job. Ranges without any are jumped over."""
    start: int | None = first_id
    while start is not None:
        end = min(start + _WINDOW_IDS - 1, last_id)
        yield start, end
        async with app.connection() as connection:
            start = await exports.following(connection, job_id, end, last_id)


async def _table(app: Penstock, job_id: int, metadata: Mapping[str, Any], windows: Windows) -> tuple[int, Parts]:
    # A job of images has one column, and its cells are the names of the images.
    named = [] if metadata.get("type") == "images" else [str(one) for one in metadata.get("columns") or []]
    async with app.connection() as connection:
        shapes = [await exports.input_shape(connection, job_id, *window) for window in windows]
    rows = sum(one.rows for one in shapes)
    results = await _results(app, job_id, metadata, windows, rows)
    widest = max((one.widest for one in shapes if one.widest is not None), default=0)
    narrowest = min((one.narrowest for one in shapes if one.narrowest is not None), default=len(named))
    width = max(len(named), widest)
    headings = named + [f"Column {number}" for number in range(len(named) + 1, width + 1)]
    inputs = [Column(heading=heading, kind="cell", key=str(place)) for place, heading in enumerate(headings)]
    if any(one.images for one in shapes) or metadata.get("type") == "images":
        inputs.append(Column(heading="Image", kind="image"))
    # Where rows differ in width, a last column keeps how many cells each had: empty cells are not missing ones.
    ragged = bool(width) and narrowest < width
    counts = [Column(heading="Cells", kind="width")] if ragged else []
    return rows, (inputs, results, counts)


async def _results(
    app: Penstock, job_id: int, metadata: Mapping[str, Any], windows: Windows, rows: int
) -> list[Column]:
    declared = metadata.get("result_columns")
    async with app.connection() as connection:
        if isinstance(declared, list):
            keys = list(dict.fromkeys(str(one) for one in declared))
        else:
            found = [await exports.result_keys(connection, job_id, *window) for window in windows]
            keys = list(dict.fromkeys(key for part in found for key in part))
        other = rows > _CHECKED_ROWS
        for window in windows:
            other = other or await exports.has_other_results(connection, job_id, *window, keys)
    columns = [Column(heading=key, kind="result", key=key) for key in keys]
    if other:
        columns.append(Column(heading=OTHER_RESULTS, kind="other", key=orjson.dumps(keys).decode()))
    return columns


async def _items(app: Penstock, job_id: int, windows: Windows) -> tuple[int, Parts]:
    """A job without a table: its arguments are the columns, its result is JSON."""
    keys: dict[str, None] = {}
    rows = 0
    async with app.connection() as connection:
        for window in windows:
            rows += (await exports.input_shape(connection, job_id, *window)).rows
            keys |= dict.fromkeys(await exports.argument_keys(connection, job_id, *window))
    arguments = [Column(heading=key, kind="argument", key=key) for key in keys]
    return rows, (arguments, [Column(heading="Result", kind="whole")], [])


def unique(columns: Iterable[Column]) -> tuple[Column, ...]:
    """No two headings alike and none blank, so that the file can be read again: the later one gets a number."""
    taken: set[str] = set()
    found = []
    for number, column in enumerate(columns, start=1):
        wanted = column.heading if column.heading.strip() else f"Column {number}"
        heading, again = wanted, 1
        while heading in taken:
            again += 1
            heading = f"{wanted} ({again})"
        taken.add(heading)
        found.append(Column(heading=heading, kind=column.kind, key=column.key))
    return tuple(found)


class Edits:
    """Rows that were edited stand in an export where they stood in the file, as their last copy.

    Copies are stored behind all rows. A page is read in pieces around them, so that the pages without any, which are
    nearly all, are read by one statement as before."""

    def __init__(self, edited: Sequence[tuple[int, int]]) -> None:
        self._copy_of = dict(edited)
        self._copies = frozenset(self._copy_of.values())
        self._marks = sorted({*self._copy_of, *self._copies})

    def rows(self, page: Page) -> int:
        """How many rows of the file the page is: a copy is told with the page of its row."""
        return page.rows - sum(mark in self._copies for mark in self._within(page))

    def pieces(self, page: Page) -> list[Page]:
        """In the order of the file."""
        found, after = [], page.after
        for mark in self._within(page):
            if mark - 1 > after:
                found.append(replace(page, after=after, last_id=mark - 1))
            if mark not in self._copies:
                last = self._last(mark)
                found.append(replace(page, after=last - 1, last_id=last))
            after = mark
        if after < page.last_id:
            found.append(replace(page, after=after))
        return found

    def _within(self, page: Page) -> list[int]:
        return self._marks[bisect_right(self._marks, page.after) : bisect_right(self._marks, page.last_id)]

    def _last(self, task_id: int) -> int:
        while (copy := self._copy_of.get(task_id)) is not None:
            task_id = copy
        return task_id
