"""What the columns of a dataset probably are, from their names and from what stands in them. Only ever a suggestion."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.extensions.linking.dataset import suggested_roles
from penstock.extensions.linking.project import Role
from penstock.insight.record import WIRE

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
