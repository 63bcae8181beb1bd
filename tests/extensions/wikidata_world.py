"""A made-up world in Wikidata's shapes: people, towns and ships that never were.

world = World()
world.add("Q101", {"en": "Ada Quillfeather"}, claims={"P31": [item("Q5")], "P569": [time("+1815-12-10")]})
world.redirect("Q102", "Q101")
world.delete("Q103")
world = generated(10_000)           # and world.names for records that are to be found
"""

import bisect
import random
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

HUMAN, TOWN, SHIP = "Q5", "Q3957", "Q11446"
_ENTITY = "http://www.wikidata.org/entity/"


@dataclass(frozen=True, slots=True)
class Snak:
    """``kind`` is the datatype, ``shape`` the type of the value inside."""

    kind: str
    shape: str
    value: Any
    rank: str = "normal"
    snaktype: str = "value"

    def ranked(self, rank: str) -> "Snak":
        return Snak(self.kind, self.shape, self.value, rank, self.snaktype)

    def as_statement(self, name: str) -> dict[str, Any]:
        main: dict[str, Any] = {"snaktype": self.snaktype, "property": name, "datatype": self.kind}
        if self.snaktype == "value":
            main["datavalue"] = {"value": self.value, "type": self.shape}
        return {"mainsnak": main, "type": "statement", "rank": self.rank}


def item(id: str) -> Snak:
    value = {"entity-type": "item", "numeric-id": int(id[1:]), "id": id}
    return Snak("wikibase-item", "wikibase-entityid", value)


def time(day: str, precision: int = 11, *, julian: bool = False) -> Snak:
    """``day``: such as +1815-12-10 or -0044-03-15."""
    calendar = f"{_ENTITY}{'Q1985786' if julian else 'Q1985727'}"
    rest = {"timezone": 0, "before": 0, "after": 0, "precision": precision, "calendarmodel": calendar}
    return Snak("time", "time", {"time": f"{day}T00:00:00Z"} | rest)


def place(latitude: float, longitude: float, globe: str = "Q2") -> Snak:
    value = {"latitude": latitude, "longitude": longitude, "altitude": None, "precision": 0.0001}
    return Snak("globe-coordinate", "globecoordinate", value | {"globe": f"{_ENTITY}{globe}"})


def quantity(amount: str, unit: str | None = None) -> Snak:
    return Snak("quantity", "quantity", {"amount": amount, "unit": "1" if unit is None else f"{_ENTITY}{unit}"})


def text(value: str, kind: str = "string") -> Snak:
    """Also ``external-id``, ``url`` and ``commonsMedia``."""
    return Snak(kind, "string", value)


def monolingual(value: str, language: str) -> Snak:
    return Snak("monolingualtext", "monolingualtext", {"text": value, "language": language})


def without_value(kind: str, snaktype: str) -> Snak:
    return Snak(kind, "", None, snaktype=snaktype)


@dataclass(slots=True)
class World:
    """``entities`` as the API gives them out. Add everything before the first search."""

    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    # English label → id, in the order they were added; for those who need records that are to be found.
    names: dict[str, str] = field(default_factory=dict)
    _terms: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _words: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    _sorted: bool = True

    def add(
        self,
        id: str,
        labels: Mapping[str, str],
        *,
        aliases: Mapping[str, Iterable[str]] | None = None,
        descriptions: Mapping[str, str] | None = None,
        claims: Mapping[str, Iterable[Snak]] | None = None,
        links: int = 1,
    ) -> None:
        said = {language: list(names) for language, names in (aliases or {}).items()}
        self.entities[id] = {
            "type": "item",
            "id": id,
            "labels": {code: {"language": code, "value": name} for code, name in labels.items()},
            "descriptions": {code: {"language": code, "value": told} for code, told in (descriptions or {}).items()},
            "aliases": {code: [{"language": code, "value": one} for one in names] for code, names in said.items()},
            "claims": {name: [one.as_statement(name) for one in some] for name, some in (claims or {}).items()},
            "sitelinks": {f"{n}wiki": {"site": f"{n}wiki", "title": id, "badges": []} for n in range(links)},
        }
        if "en" in labels:
            self.names[labels["en"]] = id
        for code, name in [*labels.items(), *((code, one) for code, names in said.items() for one in names)]:
            self._terms.setdefault(code, []).append((folded(name), id))
            words = self._words.setdefault(code, defaultdict(set))
            for word in folded(name).split():
                words[word].add(id)
        self._sorted = False

    def redirect(self, source: str, target: str) -> None:
        self.redirects[source] = target

    def delete(self, id: str) -> None:
        self.entities.pop(id, None)
        self.deleted.add(id)

    def search(self, query: str, language: str) -> list[dict[str, Any]]:
        """Names that begin with the query or hold all its words, in the language or in those that stand in for it."""
        if not self._sorted:
            for terms in self._terms.values():
                terms.sort()
            self._sorted = True
        asked = folded(query)
        ranks: dict[str, tuple[int, str, str]] = {}
        for code in dict.fromkeys((language, language.partition("-")[0], "mul", "en")):
            for rank, name, id in self._matches(asked, code):
                if id in self.entities and ranks.get(id, (9, "", ""))[0] > rank:
                    ranks[id] = (rank, name, code)
        order = sorted(ranks, key=lambda id: (ranks[id][0], -len(self.entities[id]["sitelinks"]), int(id[1:])))
        return [self._hit(id, ranks[id], language) for id in order]

    def _matches(self, asked: str, code: str) -> Iterable[tuple[int, str, str]]:
        terms = self._terms.get(code, [])
        at = bisect.bisect_left(terms, (asked, ""))
        while at < len(terms) and terms[at][0].startswith(asked):
            yield (0 if terms[at][0] == asked else 1), terms[at][0], terms[at][1]
            at += 1
        words = self._words.get(code, {})
        sets = [words.get(word, set()) for word in asked.split()]
        for id in set.intersection(*sets) if sets else set():
            yield 2, asked, id

    def _hit(self, id: str, found: tuple[int, str, str], language: str) -> dict[str, Any]:
        labels = self.entities[id]["labels"]
        label = labels.get(language) or labels.get("mul") or labels.get("en") or next(iter(labels.values()))
        match = {"type": "label", "language": found[2], "text": found[1]}
        return {"id": id, "title": id, "repository": "wikidata", "label": label["value"], "match": match}


def folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


_FIRST = (
    "Ada Bram Cleo Doran Elva Fenn Greta Halvor Isolde Jory Kestrel Linnet Marek Nessa Orrin Petra Quill Runa Soren"
)
_LAST = (
    "Quillfeather Marshwick Thornbury Ashgrove Fennimore Windlass Oakhollow Saltmere Greywether Lanternby Copperdale"
)
_PLACES = "Brackenford Dunmarrow Eastwithy Foxhallow Gullhaven Hollowmere Ironwick Juniper-Vale Kelpstrand Larkmoor"


def generated(count: int, seed: int = 1) -> World:
    """``count`` things with names of their own; a hundredth has a namesake, another one moved, another one is gone."""
    chance = random.Random(seed)
    world = World()
    first, last, places = _FIRST.split(), _LAST.split(), _PLACES.split()
    for number in range(count):
        id = f"Q{1000 + number}"
        kind = (HUMAN, HUMAN, TOWN, SHIP)[number % 4]
        if kind == HUMAN:
            name = f"{chance.choice(first)} {_made_up(number)} {chance.choice(last)}"
        else:
            name = f"{'SS ' if kind == SHIP else ''}{chance.choice(places)} {_made_up(number)}"
        _add_generated(world, id, name, kind, chance)
        if number % 100 == 7:
            _add_generated(world, f"Q{5_000_000 + number}", name, TOWN if kind == HUMAN else HUMAN, chance)
        if number % 100 == 13:
            world.redirect(f"Q{6_000_000 + number}", id)
        if number % 100 == 19:
            world.delete(f"Q{7_000_000 + number}")
    return world


def _made_up(number: int) -> str:
    """Letters instead of digits, so that names look like names: 0 is Ba, 1 is Be …"""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    made = syllables[number % 70] + syllables[number // 70 % 70] + syllables[number // 4900 % 70]
    return made.capitalize()


def _add_generated(world: World, id: str, name: str, kind: str, chance: random.Random) -> None:
    claims = {"P31": [item(kind)], "P9001": [text(f"{id}-{chance.randrange(10**6)}", "external-id")]}
    if kind == HUMAN:
        year, month, day = chance.randint(1700, 1990), chance.randint(1, 12), chance.randint(1, 28)
        claims["P569"] = [time(f"+{year}-{month:02}-{day:02}")]
    else:
        claims["P625"] = [place(round(chance.uniform(-60, 60), 4), round(chance.uniform(-170, 170), 4))]
    world.add(
        id,
        {"en": name, "de": name},
        aliases={"en": [f"{name} the {chance.choice(('Elder', 'Younger', 'Great'))}"]},
        descriptions={"en": {HUMAN: "a person", TOWN: "a town", SHIP: "a ship"}[kind] + " that never was"},
        claims=claims,
        links=chance.randint(0, 12),
    )
