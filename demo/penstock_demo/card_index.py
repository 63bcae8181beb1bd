"""Records that are to be linked to the people of the made-up Wikidata."""

import csv
import io
import random

from penstock.extensions.linking.sample_source import COUNTRIES, FIRST, LAST, PERSONS, SEED, WORK, entities


def records() -> str:
    """A card index as people keep them, as CSV: exact, misspelled, turned round, without a year, unknown."""
    chance = random.Random(SEED + 1)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "born", "country", "occupation", "shelf mark"])
    for number, person in enumerate(chance.sample(entities(), PERSONS - 30)):
        year = person["born"][:4] if number % 5 else person["born"]
        cells = [_written(chance, number, person["label"]), year, person["country"], person["work"]]
        writer.writerow([*_thinned(number, cells), f"{'ABCDE'[number % 5]}-{number + 1:03d}"])
    for number in range(10):
        name = f"{chance.choice(FIRST)} {chance.choice(LAST)}-Unfound"
        writer.writerow([name, chance.randint(1800, 1950), "", chance.choice(WORK), f"X-{number + 1:03d}"])
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
    wrong = COUNTRIES[(COUNTRIES.index(country) + 1) % len(COUNTRIES)]
    return [
        name,
        "" if number % 4 == 3 else year,
        "" if number % 3 == 2 else wrong if number % 10 == 6 else country,
        work if number % 3 == 1 else "",
    ]
