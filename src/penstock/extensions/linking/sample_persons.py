"""People that never were, in numbers: entities for the made-up Wikidata."""

import random
from typing import Any

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
