"""A small server on loopback that speaks Wikidata's API about people that never were, to try linking offline.

Only what matching asks for is answered: ``wbsearchentities`` and ``wbgetentities``. It keeps to no limit and makes no
faults; the server of the tests does.
"""

import asyncio
import random
import unicodedata
from collections.abc import Mapping
from difflib import SequenceMatcher
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

PATH = "/w/api.php"
HUMAN = "Q5"
_REQUEST_SECONDS = 10.0
_MOST_IDS = 50
_ALIKE = 0.9
_DAY = 11
_CALENDAR = "http://www.wikidata.org/entity/Q1985727"
# People that never were, in numbers.
SEED = 1911
PERSONS = 160
_FIRST_ID = 910_000
COUNTRIES = ("Westmarch", "Ostrand", "Sundvale")
FIRST = (
    "Alma", "Bertil", "Cosima", "Dorian", "Edda", "Fenna", "Gideon", "Hanneke", "Ilias", "Jorunn", "Kaspar", "Liv",
    "Maren", "Nils", "Odile", "Piet", "Quirin", "Runa", "Silas", "Tilda",
)  # fmt: skip
LAST = (
    "Amberley", "Birkholt", "Cranmoor", "Dunsfold", "Elverum", "Farrowdale", "Glenhurst", "Hollenbeck", "Isenfels",
    "Jarrowby", "Kestrel", "Lindqvist", "Marlowe-Finch", "Norrgard", "Oldcastle", "Penhallow",
)  # fmt: skip
WORK = ("painter", "botanist", "engineer", "composer", "cartographer", "physician", "poet", "astronomer", "weaver")


class SampleSource:
    """``answer`` is what ``asyncio.start_server`` calls for every connection."""

    def __init__(self) -> None:
        few = orjson.loads(files("penstock.extensions.linking").joinpath("sample_people", "entities.json").read_bytes())
        told = [*few, *entities()]
        self._entities: dict[str, dict[str, Any]] = {one["id"]: _entity(one) for one in told}
        self._names = [(folded(name), one["id"]) for one in told for name in (one["label"], *one.get("aliases", ()))]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request per connection; whatever is odd ends it."""
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                _, target, *_ = head.decode("latin-1").split(" ", 2)
                parts = urlsplit(target)
                found = self.data(dict(parse_qsl(parts.query))) if parts.path == PATH else None
                status, body = ("200 OK", found) if found is not None else ("404 Not Found", {"error": "no such page"})
                data = orjson.dumps(body)
                lines = (
                    f"HTTP/1.1 {status}",
                    "Content-Type: application/json; charset=utf-8",
                    f"Content-Length: {len(data)}",
                    "Connection: close",
                )
                writer.write("\r\n".join((*lines, "", "")).encode() + data)
                await writer.drain()
        except (TimeoutError, ValueError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def data(self, fields: Mapping[str, str]) -> dict[str, Any]:
        match fields:
            case {"action": "wbsearchentities", "search": query}:
                limit = int(fields.get("limit", "7"))
                return {"search": [self._hit(id) for id in self._search(query)][:limit], "success": 1}
            case {"action": "wbgetentities", "ids": ids}:
                asked = ids.split("|")[:_MOST_IDS]
                return {
                    "entities": {id: self._entities.get(id, {"id": id, "missing": True}) for id in asked},
                    "success": 1,
                }
        return {"error": {"code": "badvalue", "info": "Ask for wbsearchentities or wbgetentities."}}

    def _search(self, query: str) -> list[str]:
        """Names that begin so, then names that hold all the words, then names that differ in a letter or two; the
        better known first."""
        asked = folded(query)
        words = set(asked.split())
        found: dict[str, int] = {}
        for name, id in self._names:
            if name.startswith(asked):
                found[id] = 0
            elif words <= set(name.split()):
                found.setdefault(id, 1)
            elif id not in found and SequenceMatcher(None, name, asked).ratio() >= _ALIKE:
                found[id] = 2
        return sorted(found, key=lambda id: (found[id], -len(self._entities[id]["sitelinks"]), id))

    def _hit(self, id: str) -> dict[str, Any]:
        return {"id": id, "title": id, "label": self._entities[id]["labels"]["en"]["value"]}


def folded(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).casefold().replace(",", " ").replace(".", " ")
    return " ".join(plain.split())


def _entity(told: Mapping[str, Any]) -> dict[str, Any]:
    claims = {"P31": [_item("P31", told.get("kind", HUMAN))]}
    if "born" in told:
        claims["P569"] = [_date("P569", told["born"])]
    # Said in words, where Wikidata names another entity: a record has words, and only words can agree with them.
    for name, key in (("P17", "country"), ("P106", "work")):
        if key in told:
            claims[name] = [_statement(name, "string", "string", told[key])]
    return {
        "type": "item",
        "id": told["id"],
        "labels": {"en": _term(told["label"])},
        "aliases": {"en": [_term(one) for one in told.get("aliases", ())]},
        "descriptions": {"en": _term(told["description"])},
        "claims": claims,
        "sitelinks": {
            f"sample{n}wiki": {"site": f"sample{n}wiki", "title": told["label"]} for n in range(told["links"])
        },
    }


def _term(value: str) -> dict[str, str]:
    return {"language": "en", "value": value}


def _item(name: str, id: str) -> dict[str, Any]:
    return _statement(name, "wikibase-item", "wikibase-entityid", {"entity-type": "item", "id": id})


def _date(name: str, day: str) -> dict[str, Any]:
    value = {"time": f"+{day}T00:00:00Z", "precision": _DAY, "timezone": 0, "calendarmodel": _CALENDAR}
    return _statement(name, "time", "time", value)


def _statement(name: str, datatype: str, kind: str, value: Any) -> dict[str, Any]:
    main = {"snaktype": "value", "property": name, "datatype": datatype, "datavalue": {"value": value, "type": kind}}
    return {"mainsnak": main, "type": "statement", "rank": "normal"}


def entities() -> list[dict[str, Any]]:
    """In the form of ``sample_people/entities.json``. Every ninth shares its name with the one before."""
    chance = random.Random(SEED)
    made: list[dict[str, Any]] = []
    for number in range(PERSONS):
        shares = number % 9 == 8
        name = made[-1]["label"] if shares else f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        born = chance.randint(1790, 1960)
        work = chance.choice(WORK)
        first, _, last = name.partition(" ")
        made.append(
            {
                "id": f"Q{_FIRST_ID + number}",
                "label": name,
                "aliases": [f"{first[0]}. {last}"],
                "description": f"{work} that never was (born {born})",
                "born": f"{born}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}",
                "country": chance.choice(COUNTRIES),
                "links": chance.randint(1, 12),
                "work": work,
            }
        )
    return made
