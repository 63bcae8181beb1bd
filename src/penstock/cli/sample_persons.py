"""People that never were, in numbers: entities for the made-up Wikidata, and records that are to be linked to them."""

import csv
import io
import random
from typing import Any

_SEED = 1911
PERSONS = 160
_FIRST_ID = 910_000
_COUNTRIES = ("Westmarch", "Ostrand", "Sundvale")
_FIRST = (
    "Alma", "Bertil", "Cosima", "Dorian", "Edda", "Fenna", "Gideon", "Hanneke", "Ilias", "Jorunn", "Kaspar", "Liv",
    "Maren", "Nils", "Odile", "Piet", "Quirin", "Runa", "Silas", "Tilda",
)  # fmt: skip
_LAST = (
    "Amberley", "Birkholt", "Cranmoor", "Dunsfold", "Elverum", "Farrowdale", "Glenhurst", "Hollenbeck", "Isenfels",
    "Jarrowby", "Kestrel", "Lindqvist", "Marlowe-Finch", "Norrgard", "Oldcastle", "Penhallow",
)  # fmt: skip
_WORK = ("painter", "botanist", "engineer", "composer", "cartographer", "physician", "poet", "astronomer", "weaver")


def entities() -> list[dict[str, Any]]:
    """In the form of ``sample_people/entities.json``. Every ninth shares its name with the one before."""
    chance = random.Random(_SEED)
    made: list[dict[str, Any]] = []
    for number in range(PERSONS):
        shares = number % 9 == 8
        name = made[-1]["label"] if shares else f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
        born = chance.randint(1790, 1960)
        work = chance.choice(_WORK)
        first, _, last = name.partition(" ")
        made.append(
            {
                "id": f"Q{_FIRST_ID + number}",
                "label": name,
                "aliases": [f"{first[0]}. {last}"],
                "description": f"{work} that never was (born {born})",
                "born": f"{born}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}",
                "country": chance.choice(_COUNTRIES),
                "links": chance.randint(1, 12),
                "work": work,
            }
        )
    return made


def records() -> str:
    """A card index as people keep them, as CSV: exact, misspelled, turned round, without a year, unknown."""
    chance = random.Random(_SEED + 1)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "born", "country", "occupation", "shelf mark"])
    for number, person in enumerate(chance.sample(entities(), PERSONS - 30)):
        year = person["born"][:4] if number % 5 else person["born"]
        cells = [_written(chance, number, person["label"]), year, person["country"], person["work"]]
        writer.writerow([*_thinned(number, cells), f"{'ABCDE'[number % 5]}-{number + 1:03d}"])
    for number in range(10):
        name = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}-Unfound"
        writer.writerow([name, chance.randint(1800, 1950), "", chance.choice(_WORK), f"X-{number + 1:03d}"])
    return out.getvalue()


def _written(chance: random.Random, number: int, name: str) -> str:
    first, _, last = name.partition(" ")
    match number % 6:
        case 1:
            return f"{last}, {first}"
        case 3:
            place = chance.randrange(1, len(name) - 1)
            return name[:place] + name[place + 1 :]
        case 5:
            return f"{first[0]}. {last}"
    return name


def _thinned(number: int, cells: list[str]) -> list[str]:
    """Every third lacks its country, every fourth its year, most their occupation; a few have the wrong country."""
    name, year, country, work = cells
    wrong = _COUNTRIES[(_COUNTRIES.index(country) + 1) % len(_COUNTRIES)]
    return [
        name,
        "" if number % 4 == 3 else year,
        "" if number % 3 == 2 else wrong if number % 10 == 6 else country,
        work if number % 3 == 1 else "",
    ]
