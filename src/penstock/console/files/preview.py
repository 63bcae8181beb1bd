"""A file before it is taken in: what it holds and what is wrong with it, by the readers of the import. Stores nothing.

Of a table that is cut, everything but the rows behind the cut is known. Workbooks and archives have their table of
contents at the end, so those are looked at only where they are whole.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from penstock.console.files import csv_rows, csv_shape, kinds, xlsx_rows, zip_images
from penstock.console.files.capped import Caps
from penstock.console.files.encoding import guess_of
from penstock.console.files.files import plain_name
from penstock.console.files.refused import FileRefused
from penstock.console.files.zip_images import Picture
from penstock.console.storage.files import CHUNK_BYTES
from penstock.core.define import Offer
from penstock.errors import PermanentError
from penstock.observe.wording import counted

# Of the request. A workbook or an archive up to here is looked into; of a table its beginning is enough.
MOST_BYTES = 32 * 1024 * 1024 + 64 * 1024
ROWS = 50
MOST_PROBLEMS = 100
_LOOKED_AT_ROWS = 20_000
_TABLE_BYTES = 4 * 1024 * 1024
_WORKBOOK_ROWS = 1000
_SHOWN_CHARACTERS = 300
# Much less than the import has: somebody waits, and others as well.
CAPS = Caps(memory_mb=512, cpu_seconds=10, answer_seconds=20.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read it where that should not be found out."""

    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    sheet: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """``blocks``: the file would be refused, or nothing of it could be used."""

    sentence: str
    row: int | None = None
    column: str | None = None
    blocks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """``rows``: the first ones, long cells cut. ``count``: of rows or images; an estimate unless ``exact``."""

    kind: kinds.Kind | None
    encoding: str | None = None
    delimiter: str | None = None
    has_header: bool | None = None
    sheet: str | None = None
    sheets: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    pictures: Sequence[Picture] = ()
    count: int | None = None
    exact: bool = False
    troubles: Sequence[Trouble] = ()
    # All rows that were looked at, for whoever knows what their columns mean.
    looked_at: Sequence[Sequence[str]] = field(default=(), repr=False)

    def blocked(self, refused: FileRefused) -> "Preview":
        return replace(self, troubles=(*self.troubles, _told(refused)))


_NOTHING_KNOWN = "No column was recognised by its heading. Say below which column is which."
_NO_HEADINGS = (
    "The first row was read as data, so no column has a heading to be recognised by. Say below which column is which, "
    "or that the first row holds headings."
)


Found = TypeVar("Found")


class _Cut(Exception):
    """The rest of the file was not sent."""


def look(data: bytes, *, name: str, size_bytes: int, reading: Reading) -> Preview:
    """Takes seconds at most; for a thread. What is wrong stands in the answer, never in an error."""
    whole = len(data) >= size_bytes
    kind: kinds.Kind | None = None
    try:
        kind = kinds.kind_of(data[:CHUNK_BYTES], plain_name(name))
        match kind:
            case "csv":
                seen = data[:_TABLE_BYTES]
                return _csv(seen, len(seen) >= size_bytes, size_bytes, reading)
            case "image":
                picture = Picture(name=plain_name(name), size_bytes=size_bytes, problem=None)
                return Preview(kind=kind, pictures=(picture,), count=1, exact=True)
            case "xlsx" | "zip":
                return _archive(data, kind, reading) if whole else _unseen(kind)
    except FileRefused as refused:
        return Preview(kind=kind).blocked(refused)


def look_at_images(heads: Sequence[tuple[str, bytes]], count: int) -> Preview:
    """Several files at once have to be images. ``heads``: names and first bytes of some of ``count``."""
    found = [Picture(name=plain_name(name), size_bytes=0, problem=_no_image(head, name)) for name, head in heads]
    blocks = [
        Trouble(sentence=one.problem, row=number, blocks=True) for number, one in enumerate(found, 1) if one.problem
    ]
    return Preview(kind="image", pictures=found, count=count, exact=True, troubles=blocks)


def _no_image(head: bytes, name: str) -> str | None:
    try:
        kind = kinds.kind_of(head, plain_name(name))
    except FileRefused as refused:
        return str(refused)
    taken = "several files at once have to be images. Upload tables one by one."
    return None if kind == "image" else f"{plain_name(name)!r} is not an image, and {taken}"


def with_meaning(found: Preview, offer: Offer | None, given: Any) -> tuple[Preview, Mapping[str, int]]:
    """What a pipeline makes of the columns and the rows; ``given``: roles as a job's options name them."""
    if offer is None or offer.roles_of is None or not found.columns:
        return found, {}
    try:
        roles = offer.roles_of(found.columns, given if isinstance(given, Mapping) else None)
    except PermanentError as error:
        return replace(found, troubles=(Trouble(sentence=str(error), blocks=True), *found.troubles)), {}
    if any(one.blocks for one in found.troubles):
        # What its columns are is known all the same; its rows are looked at once the file can be taken.
        return found, roles
    if not roles:
        sentence = _NOTHING_KNOWN if found.has_header else _NO_HEADINGS
        return replace(found, troubles=(Trouble(sentence=sentence, blocks=True), *found.troubles)), {}
    if offer.problems_of is None:
        return found, roles
    names = {role: found.columns[at] for role, at in roles.items() if at < len(found.columns)}
    more = _of_rows(found.looked_at, roles, names, offer)
    troubles = sorted([*found.troubles, *more], key=lambda one: (not one.blocks, one.row or 0))
    return replace(found, troubles=troubles), roles


def _of_rows(
    rows: Sequence[Sequence[str]], roles: Mapping[str, int], names: Mapping[str, str], offer: Offer
) -> list[Trouble]:
    assert offer.problems_of is not None
    found: list[Trouble] = []
    for number, cells in enumerate(rows, start=1):
        for role, sentence in offer.problems_of(roles, cells):
            found.append(Trouble(sentence=sentence, row=number, column=names.get(role or "")))
        if len(found) > MOST_PROBLEMS:
            break
    return found


# -------------------------------------------------------------------- tables


def _csv(data: bytes, whole: bool, size_bytes: int, reading: Reading) -> Preview:
    head = data[:CHUNK_BYTES]
    given: dict[str, Any] = {"encoding": reading.encoding, "delimiter": reading.delimiter}
    known = {"whole": len(head) == size_bytes, **given}
    shape, blocked = _read(lambda header: csv_rows.shape_of_head(head, header=header, **known), reading)
    rows, count, stopped = _taken(csv_rows.read(_chunks(data, whole), shape))
    estimate = count if whole or not count else max(count, round(count * size_bytes / len(data)))
    found = Preview(
        kind="csv",
        encoding=shape.encoding,
        delimiter=shape.delimiter,
        has_header=shape.has_header,
        columns=shape.columns,
        rows=[_shown(row) for row in rows[:ROWS]],
        count=estimate,
        exact=whole and stopped is None,
        troubles=[
            *_doubtful(head, reading),
            *_ragged(rows, len(shape.columns)),
            *([] if stopped is None else [_told(stopped)]),
        ],
        looked_at=rows,
    )
    return found if blocked is None else replace(found, troubles=()).blocked(blocked)


def _read(read: Callable[[bool | None], Found], reading: Reading) -> tuple[Found, FileRefused | None]:
    """Where headings will not do, people want to see them among the rows."""
    try:
        return read(reading.header), None
    except FileRefused as refused:
        if reading.header is False:
            raise
        return read(False), refused


def _chunks(data: bytes, whole: bool) -> Callable[[], bytes]:
    sent = False

    def following() -> bytes:
        nonlocal sent
        if not sent:
            sent = True
            return data
        if not whole:
            raise _Cut
        return b""

    return following


def _taken(rows: Iterator[list[str]]) -> tuple[list[list[str]], int, FileRefused | None]:
    """The first rows, how many there are, and what ended them before the end."""
    kept: list[list[str]] = []
    count = 0
    try:
        for row in rows:
            count += 1
            if count <= _LOOKED_AT_ROWS:
                kept.append(row)
    except _Cut:
        return kept, count, None
    except FileRefused as refused:
        return kept, count, refused
    return kept, count, None


def _ragged(rows: Sequence[Sequence[str]], width: int) -> list[Trouble]:
    found = []
    for number, cells in enumerate(rows, start=1):
        # An empty cell behind the last column is how some programs end a line.
        if len(cells) != width and not (len(cells) == width + 1 and not cells[-1]):
            meant = (
                "Some are missing at its end" if len(cells) < width else "Those behind the last column have no heading"
            )
            has, wanted = counted(len(cells), "cell"), counted(width, "column")
            found.append(Trouble(sentence=f"it has {has}, the file {wanted}. {meant}.", row=number))
            if len(found) > MOST_PROBLEMS:
                break
    return found


def _doubtful(head: bytes, reading: Reading) -> list[Trouble]:
    """An encoding that may be another one, where nobody named it."""
    guess = guess_of(head) if reading.encoding is None else None
    if guess is None or guess.rival is None:
        return []
    rival = guess.rival
    word, instead = _around_difference(rival.word, rival.instead_of), _around_difference(rival.instead_of, rival.word)
    sentence = (
        f"Encoding guessed: {guess.encoding} reads “{instead}”, {rival.encoding} would read “{word}”. "
        f"If the second is right, choose {rival.encoding}."
    )
    return [Trouble(sentence=sentence)]


def _around_difference(text: str, other: str) -> str:
    """The cell that differs, or the part of a long one."""
    at = next((at for at, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), 0)
    begin, end = max(0, at - 20), at + 20
    return text[begin:end].strip(f"{csv_shape.DELIMITERS}\"'")


def _shown(cells: Sequence[str]) -> list[str]:
    return [cell if len(cell) <= _SHOWN_CHARACTERS else f"{cell[:_SHOWN_CHARACTERS]}…" for cell in cells]


# -------------------------------------------------------------------- archives


def _unseen(kind: kinds.Kind) -> Preview:
    what = "workbook" if kind == "xlsx" else "archive"
    sentence = f"The {what} is too large for a look into it. What it holds is found out when it is uploaded."
    return Preview(kind=kind, troubles=(Trouble(sentence=sentence),))


def _archive(data: bytes, kind: kinds.Kind, reading: Reading) -> Preview:
    with tempfile.NamedTemporaryFile(prefix="penstock-") as copy:
        copy.write(data)
        copy.flush()
        path = Path(copy.name)
        return _workbook(path, reading) if kind == "xlsx" else _zip(path)


def _workbook(path: Path, reading: Reading) -> Preview:
    given: dict[str, Any] = {"sheet": reading.sheet, "most_rows": _WORKBOOK_ROWS, "caps": CAPS}
    found, blocked = _read(lambda header: xlsx_rows.glance(path, header=header, **given), reading)
    made = Preview(
        kind="xlsx",
        has_header=found.shape.has_header,
        sheet=found.shape.sheet,
        sheets=found.shape.sheets,
        columns=found.shape.columns,
        rows=[_shown(row) for row in found.rows[:ROWS]],
        count=found.count,
        exact=found.exact,
        looked_at=found.rows,
    )
    return made if blocked is None else made.blocked(blocked)


def _zip(path: Path) -> Preview:
    pictures, count = zip_images.glance(path, shown=ROWS)
    troubles = [
        Trouble(sentence=f"{one.name!r} is left out: {one.problem}.", row=number)
        for number, one in enumerate(pictures, start=1)
        if one.problem
    ]
    if not any(one.problem is None for one in pictures):
        troubles.insert(0, Trouble(sentence="No images were found in the archive.", blocks=count <= ROWS))
    return Preview(kind="zip", pictures=pictures, count=count, exact=True, troubles=troubles)


def _told(refused: FileRefused) -> Trouble:
    sentence = f"{refused.problem} {refused.next_step}"
    return Trouble(sentence=sentence[:1].upper() + sentence[1:], row=refused.row, column=refused.column, blocks=True)
