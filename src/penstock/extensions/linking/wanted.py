"""What is to be found: a record, read by the roles of its columns."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.extensions.linking.project import Options, Project

_QUERY_CHARACTERS = 250
_SPACES = re.compile(r"\s+")
_SEVERAL = re.compile(r"\s*[|;]\s*")
_BETWEEN = re.compile(r"[\s,;|/]+")
_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,12}){0,2}")


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
