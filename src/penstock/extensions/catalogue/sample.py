"""Products that do not exist, and a list of some of them to look up: a newcomer sees hits within a minute.

The same seed gives the same products, so that a sample imported twice is not there twice.
"""

import csv
import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from itertools import count, islice
from typing import Any

from penstock.extensions.catalogue.understood import Understood, check_digit

_SEED = 1871
PRODUCTS = 300
# Known to the shop of the demonstration alone.
SHOP_PRODUCTS = 120
_BRANDS = (
    "Alderby",
    "Brunnhild",
    "Corvane",
    "Dunmoor",
    "Eikeland",
    "Fennick",
    "Galdor",
    "Hartwell",
    "Istria",
    "Jorvik",
)
_THINGS = (
    ("Cordless Drill", ("12 V", "18 V", "24 V"), (59, 249)),
    ("Electric Kettle", ("1.0 l", "1.5 l", "1.7 l"), (19, 89)),
    ("Desk Lamp", ("5 W", "8 W", "12 W"), (15, 120)),
    ("Trail Backpack", ("20 l", "35 l", "50 l"), (39, 199)),
    ("Espresso Machine", ("900 W", "1350 W"), (99, 799)),
    ("Bluetooth Speaker", ("10 W", "20 W", "40 W"), (25, 260)),
    ("Garden Hose", ("15 m", "25 m", "50 m"), (17, 95)),
    ("Bicycle Pump", ("8 bar", "11 bar"), (12, 65)),
    ("Office Chair", ("black", "grey", "blue"), (79, 420)),
    ("Cast Iron Pan", ("24 cm", "28 cm", "32 cm"), (29, 110)),
)
_SERIES = ("Aero", "Basis", "Classic", "Delta", "Eco", "Forte", "Nova", "Prime", "Terra", "Vista")
_SHOPS = ("Northgate Supplies", "Hafenmarkt", "Maison Duvallet")


def products() -> Iterator[Understood]:
    return islice(_products(), PRODUCTS)


def shop_products() -> list[dict[str, Any]]:
    """As its answers have them."""
    sold = islice(_products(), PRODUCTS, PRODUCTS + SHOP_PRODUCTS)
    return [
        {name: float(value) if isinstance(value, Decimal) else value for name, value in asdict(one).items() if value}
        for one in sold
    ]


def _products() -> Iterator[Understood]:
    """Their GTINs begin with 2, which is for use inside a company: they are nobody's."""
    chance = random.Random(_SEED)
    for number in count():
        brand, series = chance.choice(_BRANDS), chance.choice(_SERIES)
        thing, variants, (least, most) = chance.choice(_THINGS)
        digits = f"0211871{number:06d}"
        model = f"{brand[:2]}{series[0]}-{1000 + number}".upper()
        yield Understood(
            title=f"{brand} {series} {thing} {chance.choice(variants)} {model}",
            brand=brand,
            sku=model,
            gtin=f"{digits}{check_digit(digits)}",
            price=Decimal(chance.randint(least * 100, most * 100)) / 100,
            currency="EUR",
            retailer=chance.choice(_SHOPS),
            url=f"https://shop.example/{model.lower()}",
        )


def file() -> str:
    """A list as people have them: by number, by name, misspelled, unknown, empty."""
    chance = random.Random(_SEED + 1)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["EAN", "Article number", "Brand", "Product name", "Stock"])
    for place, product in enumerate(chance.sample(list(products()), 40)):
        writer.writerow([*_row(place, product), chance.randint(0, 90)])
    writer.writerow(["", "", "Nobody", "Perpetual Motion Machine 3 kW", "0"])
    writer.writerow(["", "", "", "", "7"])
    return out.getvalue()


def long_file(rows: int) -> str:
    """The list of the demonstration. Of a hundred rows some are known to the shop alone, some to nobody, some say
    nothing, and some hold an article number that the shop refuses; two of all ask for what it never answers."""
    chance = random.Random(_SEED + 2)
    known, sold = list(products()), list(islice(_products(), PRODUCTS, PRODUCTS + SHOP_PRODUCTS))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["EAN", "Article number", "Brand", "Product name", "Stock"])
    for place in range(rows):
        writer.writerow([*_any_row(chance, place, known, sold), chance.randint(0, 90)])
    return out.getvalue()


def _any_row(
    chance: random.Random, place: int, known: Sequence[Understood], sold: Sequence[Understood]
) -> Sequence[str]:
    match place % 100:
        case 7 | 31 | 58 | 83:
            product = chance.choice(sold)
            return ["", product.sku or "", product.brand or "", ""]
        case 19:
            return ["", f"{chance.choice(known).sku}#{chance.randint(1, 9)}", "", ""]
        case 44:
            return ["", "", "Nobody", f"{chance.choice(_SERIES)} Perpetual Motion Machine {chance.randint(2, 90)} kW"]
        case 71:
            return ["", "", "", ""]
        case 95 if place % 2500 == 95:
            return ["", "OVERLOADED", "", ""]
    return _row(place, chance.choice(known))


def _row(place: int, product: Understood) -> list[str]:
    gtin, sku, brand, title = product.gtin or "", product.sku or "", product.brand or "", product.title or ""
    match place % 4:
        case 0:
            return [gtin[1:], "", "", ""]
        case 1:
            return ["", sku, brand, ""]
        case 2:
            return ["", "", brand, title.removeprefix(f"{brand} ")]
        case _:
            return ["", "", "", title.upper()]
