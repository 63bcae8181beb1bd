"""Articles of a CSV file: a title and a text per row, and what else its columns say about them."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from penstock.console.files.csv_rows import HEAD_BYTES, shape_of_head
from penstock.console.files.csv_rows import read as read_rows
from penstock.console.files.refused import FileRefused
from penstock.extensions.articles.articles import Visibility
from penstock.extensions.articles.drafts import Draft, Entries, Entry, Refusal

_CHUNK_BYTES = 256 * 1024
# What a row may have beside its text.
_ROW_BYTES_MORE = 1024 * 1024
_SOURCE_CHARACTERS = 200
# As people call them; of several the one that comes first here.
_ROLES = {
    "title": ("title",),
    "content": ("content", "text", "body"),
    "message": ("message",),
    "visibility": ("visibility",),
    "source": ("source",),
    "id": ("id",),
    "url": ("url",),
}


def read(path: Path, *, source: str, most_bytes: int) -> Entries:
    """``source``: before the id or the title of a row, which say little by themselves: two files may both have a row 7.
    A row that cannot be taken is refused and the next one is read; where rows cannot be told apart any more, the
    last refusal says that the rest was not read."""
    rows = _Rows(source)
    with _opened(path) as file:
        size = max(path.stat().st_size, 1)
        head = file.read(HEAD_BYTES)
        # One setting of the process; the readers of the intake raise it as well, but after the first look at the file.
        csv.field_size_limit(max(csv.field_size_limit(), most_bytes + _ROW_BYTES_MORE))
        shape = shape_of_head(head, whole=len(head) < HEAD_BYTES, header=True)
        roles = _roles(shape.columns)
        file.seek(0)
        number = 0
        try:
            cells_of = read_rows(lambda: file.read(_CHUNK_BYTES), shape, row_bytes=most_bytes + _ROW_BYTES_MORE)
            for number, cells in enumerate(cells_of, start=1):
                yield Entry(found=rows.draft(number, roles, cells), share=min(file.tell() / size, 1.0))
        except FileRefused as error:
            where = f"row {error.row or number + 1:,}"
            why = f"{error.problem[:1].upper()}{error.problem[1:]} {error.next_step} The rest of the file was not read."
            yield Entry(found=Refusal(where=where, why=why), share=1.0)


class _Rows:
    """Remembers which sources have come, by their hashes: a million rows take as many numbers, not as many texts."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._sources: set[int] = set()
        self._titles: Counter[int] = Counter()

    def draft(self, number: int, roles: Mapping[str, int], cells: Sequence[str]) -> Draft | Refusal:
        where = f"row {number:,}"
        texts = {role: cells[place] for role, place in roles.items() if place < len(cells)}
        values = {role: text.strip() for role, text in texts.items() if role != "content"}
        visibility = values.get("visibility", "").lower() or None
        if visibility is not None and visibility not in tuple(Visibility):
            return Refusal(
                where=where, why=f"Its visibility is {visibility[:50]!r}. Use private or shared, or nothing."
            )
        source = self._known_by(values)
        if (known := hash(source)) in self._sources:
            return Refusal(
                where=where, why=f"A row before it has the source {source[:100]!r}, too. Give it another one."
            )
        self._sources.add(known)
        return Draft(
            where=where,
            source=source,
            title=values.get("title", ""),
            content=texts.get("content", "").strip("\r\n"),
            message=values.get("message") or None,
            visibility=None if visibility is None else Visibility(visibility),
        )

    def _known_by(self, values: Mapping[str, str]) -> str:
        """The address or source of a row is its own; an id is one within this file."""
        if values.get("source"):
            return values["source"]
        if values.get("id"):
            return f"{self._source}#{values['id']}"
        return values.get("url") or self._by_title(values.get("title", ""))

    def _by_title(self, title: str) -> str:
        """Where no column names a source, the file and the title do: rows may move, and equal titles are counted."""
        begun = f"{self._source}#{title[:_SOURCE_CHARACTERS]}"
        self._titles[hash(begun)] += 1
        return begun if (count := self._titles[hash(begun)]) == 1 else f"{begun} ({count})"


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise FileRefused(f"{str(path)!r} cannot be read ({error.strerror}).", "Check its name and rights.") from None


def _roles(columns: Sequence[str]) -> dict[str, int]:
    headings = [column.strip().casefold() for column in columns]
    roles: dict[str, int] = {}
    for role, names in _ROLES.items():
        for name in names:
            if name in headings:
                roles[role] = headings.index(name)
                break
    for role in ("title", "content"):
        if role not in roles:
            raise FileRefused(
                f"no column is called {' or '.join(_ROLES[role])}; the columns are {', '.join(columns[:20])[:500]}.",
                "Put the headings title and content into its first line; message, visibility and source are read, too.",
            )
    return roles
