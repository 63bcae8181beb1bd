"""A project: a dataset, what its columns mean, and how its records are matched; what is to be found for a record."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

import orjson

from penstock.config import Settings
from penstock.errors import InvalidSetting
from penstock.extensions.linking.settings import LinkingSettings

RoleName = Literal["name", "alias", "type", "language", "property"]
ROLES: tuple[RoleName, ...] = get_args(RoleName)
SOURCES = ("wikidata", "reconciliation", "sample")
# Those that speak as Wikidata does: the third is the made-up one of `penstock demo`.
LIKE_WIKIDATA = frozenset({"wikidata", "sample"})
_MOST_CANDIDATES = 50
_MOST_LANGUAGES = 10
MOST_TYPES = 20
TYPE_CHARACTERS = 200
_QUERY_CHARACTERS = 250
_SPACES = re.compile(r"\s+")
_SEVERAL = re.compile(r"\s*[|;]\s*")
_BETWEEN = re.compile(r"[\s,;|/]+")
_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,12}){0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a column is read as. ``property``: under which property of the source (P569), for that role only."""

    role: RoleName
    property: str | None = None

    def stored(self) -> dict[str, str]:
        return {"role": self.role} if self.property is None else {"role": self.role, "property": self.property}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a project is matched, whole: what it does not say itself comes from the settings."""

    languages: tuple[str, ...]
    types: tuple[str, ...]
    candidates: int
    accept_score: float
    accept_gap: float
    weights: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= len(self.languages) <= _MOST_LANGUAGES or not all(_is_code(one) for one in self.languages):
            raise InvalidSetting(
                "languages", list(self.languages), f"name 1 to {_MOST_LANGUAGES} codes of languages, such as en or de"
            )
        _check_types(self.types)
        if isinstance(self.candidates, bool) or not 1 <= self.candidates <= _MOST_CANDIDATES:
            raise InvalidSetting("candidates", self.candidates, f"use 1 to {_MOST_CANDIDATES}")
        for name, value in (("accept_score", self.accept_score), ("accept_gap", self.accept_gap)):
            if not _is_share(value):
                raise InvalidSetting(name, value, "scores go from 0 to 1")

    @classmethod
    def of(cls, given: Mapping[str, Any], settings: Settings) -> "Options":
        """From what a project stores; an option nobody knows is refused by name."""
        own = settings.of(LinkingSettings)
        if unknown := sorted(set(given) - set(cls.__slots__)):
            raise InvalidSetting(
                "options", unknown[0], f"there is no such option; known are {', '.join(cls.__slots__)}"
            )
        try:
            return cls(
                languages=tuple(given.get("languages") or own.languages),
                types=tuple(given.get("types") or ()),
                candidates=int(given.get("candidates", own.candidates)),
                accept_score=given.get("accept_score", own.accept_score),
                accept_gap=given.get("accept_gap", own.accept_gap),
                weights=dict(given.get("weights") or {}),
            )
        except (TypeError, ValueError) as error:
            raise InvalidSetting("options", dict(given), f"a value has the wrong kind ({error})") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """``options``: as stored, only what differs from the settings; ``Options.of`` makes them whole. ``run`` grows with
    every match and cancel. ``types_key``: under which types its answers are cached. ``job_id``: the job of the current
    run."""

    id: int
    name: str
    owner: str
    source: str
    columns: tuple[str, ...]
    roles: Mapping[str, Role]
    options: Mapping[str, Any]
    run: int
    types_key: str
    job_id: int | None
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def running(self) -> bool:
        return self.started_at is not None and self.ended_at is None


def asked_types(project: Project, options: Options) -> tuple[str, ...]:
    """What the source is asked for, in one order. Wikidata's search does not know types: its answers are for all."""
    return () if project.source in LIKE_WIKIDATA else tuple(sorted(set(options.types)))


def types_key(types: Sequence[str]) -> str:
    """Under which types an answer is cached, of what the source was really asked. As short for many types as for one:
    it is part of a key of the database, which has a bound."""
    return hashlib.sha256(orjson.dumps(list(types))).hexdigest() if types else ""


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _check_types(types: tuple[object, ...]) -> None:
    """They go with every question, and are kept with every task that asks one."""
    if len(types) > MOST_TYPES:
        problem = f"there are {len(types):,}; name at most {MOST_TYPES} types of the source, such as Q5"
        raise InvalidSetting("types", f"{str(types[0])[:50]}, …", problem)
    for one in types:
        if not isinstance(one, str) or not 0 < len(one) <= TYPE_CHARACTERS or not one.isprintable():
            problem = f"a type of the source, such as Q5, has 1 to {TYPE_CHARACTERS} characters that can be shown"
            raise InvalidSetting("types", one[:50] if isinstance(one, str) else one, problem)


def _is_code(text: object) -> bool:
    return isinstance(text, str) and 2 <= len(text) <= 20 and text.replace("-", "").isalnum() and text.isascii()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """``types``: ids of the source (Q5), any of them will do. ``properties``: what the record says under a property of
    the source (P569), as it stands in the file; several values where a cell holds several."""

    name: str
    aliases: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)
    types: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def wanted_of(project: Project, options: Options, cells: Mapping[str, str]) -> Wanted:
    """A record, read by the roles of its columns."""
    name = ""
    own: tuple[str, ...] = ()
    aliases: list[str] = []
    types: list[str] = []
    properties: dict[str, tuple[str, ...]] = {}
    for column, role in project.roles.items():
        text = cells.get(column, "").strip()
        if not text:
            continue
        match role.role:
            case "name":
                name = cleaned(text)
            case "alias":
                aliases += [cleaned(one) for one in _SEVERAL.split(text)]
            case "type":
                types += _SEVERAL.split(text)
            case "language":
                own = codes_of(text)
            case "property":
                values = tuple(one for one in re.split(r"\s*\|\s*", text) if one)
                properties[role.property or ""] = properties.get(role.property or "", ()) + values
    return Wanted(
        name=name,
        aliases=tuple(dict.fromkeys(one for one in aliases if one)),
        languages=tuple(dict.fromkeys((*own, *options.languages))),
        types=tuple(one for one in types if one) or options.types,
        properties=properties,
    )


def query_of(wanted: Wanted) -> str | None:
    """What the source is asked for; None: the name holds no letter and no digit, so there is nothing to ask."""
    query = wanted.name[:_QUERY_CHARACTERS].strip()
    return query if any(one.isalnum() for one in query) else None


def cleaned(text: str) -> str:
    """Equal names are asked once, however they are spaced or composed."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()


def codes_of(text: str) -> tuple[str, ...]:
    """Codes of languages, as people write them into cells: ``pt_BR`` is pt-br, ``en, de`` are two. What is no code is
    left out; the project's languages follow."""
    found = (one.replace("_", "-") for one in _BETWEEN.split(text.casefold()))
    return tuple(dict.fromkeys(one for one in found if _CODE.fullmatch(one)))
