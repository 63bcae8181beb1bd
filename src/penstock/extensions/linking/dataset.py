"""Datasets: rows of a CSV, an XLSX or JSON, and what their columns mean, or probably mean: a guess is a suggestion."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from penstock.console.files import csv_rows, xlsx_rows
from penstock.console.files.capped import Caps
from penstock.console.files.export.formulas import unguard
from penstock.console.files.refused import FileRefused
from penstock.errors import UsageError
from penstock.extensions.linking.project import ROLES, Role
from penstock.insight.record import WIRE
from penstock.observe.wording import counted

# JSON is read whole; larger datasets come as CSV or XLSX.
MOST_JSON_BYTES = 32 * 1024 * 1024
_LONGEST_COLUMN = 200
_CHUNK_BYTES = 256 * 1024
_MOST_CELL_CHARACTERS = 10_000
_ZIP_MAGIC = b"PK\x03\x04"
_SPACES = re.compile(r"\s+")
_PROPERTY = re.compile(r"P[1-9][0-9]{0,9}")
# As people call them, folded; only a suggestion, which whoever makes the project may change.
_SUGGESTED = {
    "name": ("name", "label", "title", "full name", "fullname", "person", "organisation", "organization", "company"),
    "alias": ("alias", "aliases", "other names", "also known as", "aka", "alternative name"),
    "type": ("type", "types", "kind", "class", "instance of"),
    "language": ("language", "lang", "locale"),
}
_SUGGESTED_PROPERTIES = {
    "P569": ("date of birth", "born", "birth date", "birthdate", "birthday", "birth year"),
    "P570": ("date of death", "died", "death date", "death year"),
    "P17": ("country",),
    "P27": ("nationality", "citizenship"),
    "P625": ("coordinates", "coordinate", "location", "lat lon", "geo"),
    "P856": ("website", "url", "homepage", "web site"),
    "P106": ("occupation", "profession"),
    "P571": ("founded", "inception", "established"),
    "P1082": ("population",),
    "P213": ("isni",),
    "P214": ("viaf",),
    "P496": ("orcid",),
}
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_POINT = re.compile(r"\(?\s*[-+]?\d{1,2}\.\d+\s*[,; ]\s*[-+]?\d{1,3}\.\d+\s*\)?")
_ORCID = re.compile(r"(https://orcid\.org/)?\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
_ENTITY = re.compile(r"Q[1-9]\d{0,11}")
_DATE = re.compile(r"[-+]?\d{1,4}([-/.]\d{1,2}){0,2}([-/.]\d{1,4})?|\d{1,2}\.? \w+ \d{4}")
# What a property's column is often called in part, in a few languages, and how its values look then.
_PARTS: tuple[tuple[str, re.Pattern[str] | None, tuple[str, ...]], ...] = (
    ("P569", _DATE, ("birth", "born", "geburt", "geboren", "naissance", "nacimiento", "nascita")),
    ("P570", _DATE, ("death", "died", "gestorben", "todes", "deces", "décès", "muerte", "morte")),
    ("P571", _DATE, ("found", "incept", "establish", "gründung", "gegründet", "fondation")),
    ("P17", None, ("country", "land", "pays", "país", "paese")),
    ("P27", None, ("nationalit", "citizen")),
    ("P106", None, ("occupation", "profession", "beruf", "métier")),
    ("P214", None, ("viaf",)),
    ("P213", None, ("isni",)),
    ("P227", None, ("gnd",)),
    ("P1566", None, ("geonames",)),
    ("P1082", None, ("population", "einwohner")),
)
_BY_LOOK: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("P496", _ORCID, "its values look like ORCID iDs"),
    ("P625", _POINT, "its values look like coordinates"),
    ("P856", _ADDRESS, "its values are web addresses"),
)
_NAMES = ("name", "nom", "nombre", "nome", "titel", "titre")
_NOT_NAMES = ("file", "user", "datei", "alias")
# So many of the values have to look like it: a few are always odd.
_MOST_OF_THEM = 0.8
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """``rows`` are read as they are taken: a large file needs no memory. Column → text, empty cells left out."""

    columns: tuple[str, ...]
    rows: Iterator[dict[str, str]]


def is_json(name: str) -> bool:
    return name.lower().endswith(".json")


def read_path(path: Path, name: str, *, safe: bool = False, caps: Caps = xlsx_rows.CAPS) -> Dataset:
    """``name``: what the file was called; one that ends in .json holds an array of objects, others are told by what
    they hold. ``safe``: it is a CSV of that form, as exports write it, whose apostrophes before what looks like a
    formula are taken away again. ``caps``: of what reads a workbook. Blocks while it reads."""
    if is_json(name):
        return read_objects(_parsed(path))
    with path.open("rb") as file:
        head = file.read(csv_rows.HEAD_BYTES)
    if not head:
        raise FileRefused("the file is empty.", "Give a file with a header and at least one row.")
    if head.startswith(_ZIP_MAGIC):
        found = xlsx_rows.shape_of_file(path, header=True, caps=caps)
        return _of_cells(found.columns, xlsx_rows.read(path, found, caps=caps))
    shape = csv_rows.shape_of_head(head, whole=len(head) < csv_rows.HEAD_BYTES, header=True)
    if not safe:
        return _of_cells(shape.columns, _csv(path, shape))
    rows = ([unguard(cell) for cell in cells] for cells in _csv(path, shape))
    return _of_cells([unguard(column) for column in shape.columns], rows)


def read_objects(rows: Sequence[Mapping[str, Any]]) -> Dataset:
    """JSON objects. Columns in the order in which they first appear."""
    if not rows:
        raise FileRefused("there are no rows.", "Give at least one.")
    columns: dict[str, None] = {}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise FileRefused("it is no object of columns and values.", 'Write {"name": "…"}.', row=number)
        columns.update(dict.fromkeys(str(column) for column in row))
    if len(columns) > csv_rows.MOST_COLUMNS:
        raise FileRefused(f"there are {len(columns):,} columns.", f"At most {csv_rows.MOST_COLUMNS:,} are read.")
    return _checked(Dataset(columns=tuple(columns), rows=_of_objects(rows)))


def suggested_roles(columns: Sequence[str]) -> dict[str, Role]:
    """What columns are by their names. A name such as P569 is that property; others have no role."""
    roles: dict[str, Role] = {}
    for column in columns:
        folded = _SPACES.sub(" ", column.replace("_", " ").replace("-", " ")).strip().casefold()
        if _PROPERTY.fullmatch(column.strip().upper()):
            roles[column] = Role(role="property", property=column.strip().upper())
        for role in ROLES[:4]:
            if folded in _SUGGESTED[role] and not (role in ("name", "language") and _has(roles, role)):
                roles[column] = Role(role=role)
        for name, words in _SUGGESTED_PROPERTIES.items():
            if folded in words:
                roles[column] = Role(role="property", property=name)
    return roles


def checked_roles(columns: Sequence[str], given: Mapping[str, Mapping[str, Any] | Role]) -> dict[str, Role]:
    """Refuses columns that do not exist, roles nobody knows, and datasets without a name."""
    known = ", ".join(columns[:20])[:500]
    roles: dict[str, Role] = {}
    for column, one in given.items():
        if column not in columns:
            raise UsageError(f"There is no column {column[:100]!r} in the dataset. Its columns are {known}.")
        wish = one.stored() if isinstance(one, Role) else dict(one)
        role, name = wish.get("role"), wish.get("property")
        if role not in ROLES:
            raise UsageError(f"Column {column[:100]!r} cannot be {role!r}. Use one of {', '.join(ROLES)}.")
        if (role == "property") != bool(name) or not isinstance(name, str | None) or len(name or "") > 200:
            raise UsageError(
                f"Column {column[:100]!r} has the role {role!r} with the property {name!r}. "
                "A property column names one of the source, such as P569; others name none."
            )
        roles[column] = Role(role=role, property=name or None)
    names = sum(one.role == "name" for one in roles.values())
    if names != 1:
        raise UsageError(
            f"{names} columns have the role name, and it takes exactly one. Its columns are {known}. "
            "Give the one that holds what is to be found the role name: `--role 'COLUMN=name'`, or roles over HTTP."
        )
    if sum(one.role == "language" for one in roles.values()) > 1:
        raise UsageError("Several columns have the role language. Give it to one, or to none.")
    return roles


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


def _has(roles: Mapping[str, Role], role: str) -> bool:
    return any(one.role == role for one in roles.values())


def _csv(path: Path, shape: Any) -> Iterator[list[str]]:
    with path.open("rb") as file:
        yield from csv_rows.read(lambda: file.read(_CHUNK_BYTES), shape)


def _of_cells(columns: Sequence[str], rows: Iterator[list[str]]) -> Dataset:
    def named() -> Iterator[dict[str, str]]:
        for number, cells in enumerate(rows, start=1):
            if any(cell.strip() for cell in cells[len(columns) :]):
                raise FileRefused(
                    f"it has {counted(len(cells), 'cell')}, and the header names {counted(len(columns), 'column')}.",
                    "Give every column a heading, or quote cells that hold the delimiter.",
                    row=number,
                )
            yield _row(number, dict(zip(columns, cells, strict=False)))

    return _checked(Dataset(columns=tuple(columns), rows=named()))


def _of_objects(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    for number, row in enumerate(rows, start=1):
        yield _row(number, {str(column): _text(value, number, str(column)) for column, value in row.items()})


def _row(number: int, cells: Mapping[str, str]) -> dict[str, str]:
    for column, text in cells.items():
        if len(text) > _MOST_CELL_CHARACTERS:
            raise FileRefused(
                f"the cell of column {column[:100]!r} has {len(text):,} characters.",
                f"At most {_MOST_CELL_CHARACTERS:,} are read.",
                row=number,
                column=column,
            )
        if "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
            problem = f"the cell of column {column[:100]!r} holds a character that cannot be stored."
            raise FileRefused(problem, "Remove it.", row=number, column=column)
    return {column: text for column, text in cells.items() if text.strip()}


def _text(value: Any, number: int, column: str) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return repr(value)
        case list():
            return " | ".join(_text(one, number, column) for one in value if not isinstance(one, list | dict))
    raise FileRefused(
        f"column {column[:100]!r} holds an object.", "Use texts, numbers, or lists of them.", row=number, column=column
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess(Role):
    """`because`: why it is taken for that, for people."""

    __pydantic_config__ = WIRE

    because: str


def guess(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> dict[str, Guess]:
    """``rows``: the first ones. Columns without a role are left out."""
    found = {
        column: Guess(role=one.role, property=one.property, because="its name says so")
        for column, one in suggested_roles(columns).items()
    }
    for column in columns:
        if column not in found and (one := _property(column, _values(column, rows))) is not None:
            found[column] = one
    if not any(one.role == "name" for one in found.values()):
        found |= _name([column for column in columns if column not in found], rows)
    if not any(one.role == "type" for one in found.values()):
        found |= _type([column for column in columns if column not in found], rows)
    return found


def _property(column: str, values: Sequence[str]) -> Guess | None:
    folded = column.casefold()
    for name, look, parts in _PARTS:
        if any(part in folded for part in parts) and (look is None or _mostly(look, values)):
            return Guess(role="property", property=name, because="its name sounds like it")
    for name, look, because in _BY_LOOK:
        if values and _mostly(look, values):
            return Guess(role="property", property=name, because=because)
    return None


def _name(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> dict[str, Guess]:
    """One that is called so in part, or else the one with the most different texts."""
    for column in columns:
        folded = column.casefold()
        if any(part in folded for part in _NAMES) and not any(part in folded for part in _NOT_NAMES):
            return {column: Guess(role="name", because="its name sounds like it")}
    texts = {column: len({one for one in _values(column, rows) if _is_text(one)}) for column in columns}
    best = max(texts, key=lambda column: texts[column], default=None)
    if best is None or not texts[best]:
        return {}
    return {best: Guess(role="name", because="it has the most different texts")}


def _type(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> dict[str, Guess]:
    """Ids that repeat are kinds; ids that do not are something else, perhaps what is looked for."""
    for column in columns:
        values = _values(column, rows)
        if len(values) > 2 and _mostly(_ENTITY, values) and len(set(values)) <= len(values) // 2:
            return {column: Guess(role="type", because="a few ids of the source, again and again")}
    return {}


def _values(column: str, rows: Sequence[Mapping[str, str]]) -> list[str]:
    return [text for row in rows if (text := row.get(column, "").strip())]


def _mostly(look: re.Pattern[str], values: Sequence[str]) -> bool:
    """A column of which nothing is known contradicts nothing."""
    return sum(look.fullmatch(one) is not None for one in values) >= _MOST_OF_THEM * len(values)


def _is_text(value: str) -> bool:
    letters = sum(one.isalpha() for one in value)
    return len(value) <= _LONGEST_NAME and 2 * letters > len(value) and not _ADDRESS.match(value)
