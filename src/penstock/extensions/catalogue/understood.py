"""What the columns of a file mean, told by the submitter or guessed from the headings; what a row says of a product.

Global trade item numbers (EAN, UPC and their kin) are all written as 14 digits.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.errors import PermanentError
from penstock.extensions.catalogue.folding import fold, tidy
from penstock.observe.wording import counted

# Role → headings that mean it, the surest first, as `fold` writes them: English, German, Dutch, French and
# Spanish. A column has one role, and the roles are given away in this order: what is more special comes first.
HEADINGS: dict[str, tuple[str, ...]] = {
    "gtin": (
        "gtin", "gtin14", "gtin13", "gtin 14", "gtin 13", "ean", "ean13", "ean 13", "ean8", "ean code", "upc",
        "upc code", "barcode", "bar code", "isbn", "jan", "strichcode", "streepjescode", "code barres", "code barre",
        "code a barres", "gencod", "codigo de barras", "codigo ean", "codice a barre",
    ),
    "sku": (
        "sku", "mpn", "article number", "article no", "item number", "item no", "part number", "part no",
        "product code", "product number", "model number", "artikelnummer", "artikelnr", "artikel nr", "art nr",
        "bestellnummer", "herstellernummer", "teilenummer", "artikelcode", "productcode", "bestelnummer",
        "reference", "ref", "reference fabricant", "numero d article", "code article", "code produit", "referencia",
        "codigo de articulo", "codigo de producto", "numero de pieza", "codice articolo",
    ),
    "url": ("url", "product url", "link", "deeplink", "product link", "webadresse", "lien", "enlace", "adresse web"),
    "currency": ("currency", "wahrung", "waehrung", "valuta", "devise", "moneda", "divisa"),
    "price": ("price", "unit price", "sale price", "preis", "stuckpreis", "prijs", "prix", "precio", "prezzo"),
    "retailer": (
        "retailer", "seller", "merchant", "shop", "store", "handler", "haendler", "verkaufer", "winkel", "verkoper",
        "marchand", "vendeur", "magasin", "tienda", "vendedor",
    ),
    "brand": (
        "brand", "manufacturer", "make", "vendor", "marke", "hersteller", "merk", "fabrikant", "marque", "fabricant",
        "marca", "fabricante",
    ),
    "title": (
        "title", "product title", "product name", "item name", "name", "product", "item", "produktname", "titel",
        "artikelbezeichnung", "bezeichnung", "artikelname", "produkt", "artikel", "productnaam", "artikelnaam", "naam",
        "nom du produit", "titre", "nom", "designation", "libelle", "produit", "article", "nombre del producto",
        "titulo", "nombre", "producto", "articulo", "description", "product description", "beschreibung",
        "omschrijving", "descripcion", "nome",
    ),
}  # fmt: skip
ROLES = tuple(HEADINGS)
_LENGTHS = (8, 12, 13, 14)
_BETWEEN = re.compile(r"[\s\-–.]+")
_ROUNDED = re.compile(r"\d(?:[.,]\d+)?e\+?\d+", re.IGNORECASE)
_LONGEST = {"title": 500, "brand": 200, "sku": 100, "retailer": 200, "url": 2000}
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
_CODE = re.compile(r"\b[A-Z]{3}\b")
_NOT_PRICE = re.compile(r"[^\d.,'\-]")
_LARGEST_PRICE = Decimal(10) ** 11


def roles_of(columns: Sequence[str], given: Mapping[str, Any] | None = None) -> dict[str, int]:
    """Role → index of its column. What is given (role → heading, null: no column) counts before every guess."""
    roles = _given(columns, given or {})
    folded = [fold(column) for column in columns]
    for role, headings in HEADINGS.items():
        if role not in (given or {}) and (found := _best(folded, headings, set(roles.values()))) is not None:
            roles[role] = found
    return roles


def _given(columns: Sequence[str], given: Mapping[str, Any]) -> dict[str, int]:
    roles = {}
    for role, heading in given.items():
        if role not in HEADINGS:
            raise PermanentError(f"There is no role {role!r} of a column. Use {', '.join(ROLES)}.")
        if heading is None:
            continue
        if heading not in columns:
            shown = ", ".join(columns[:20])
            raise PermanentError(f"The role {role} was given to the column {heading!r}; the file has: {shown}.")
        roles[role] = list(columns).index(heading)
    return roles


def _best(folded: Sequence[str], headings: Sequence[str], taken: set[int]) -> int | None:
    """The heading itself before one that only holds it among other words."""
    for rank in (_equal, _within):
        for heading in headings:
            for index, column in enumerate(folded):
                if index not in taken and rank(heading, column):
                    return index
    return None


def _equal(heading: str, column: str) -> bool:
    return heading == column


def _within(heading: str, column: str) -> bool:
    return f" {heading} " in f" {column} "


class NoGtin(ValueError):
    """Why a text is no GTIN, in words that fit behind "because"."""


def gtin_of(text: str) -> str:
    """14 digits with leading zeros; raises :class:`NoGtin`."""
    given = text.strip().removesuffix(".0").removesuffix(",0")
    if _ROUNDED.fullmatch(given):
        raise NoGtin(f"{text!r} was rounded by a spreadsheet; format the column as text")
    digits = _BETWEEN.sub("", given)
    if not (digits.isascii() and digits.isdigit()):
        raise NoGtin(f"{text!r} holds other characters than digits")
    if len(digits) not in _LENGTHS:
        raise NoGtin(f"{text!r} has {counted(len(digits), 'digit')}; 8, 12, 13 and 14 are possible")
    if not int(digits):
        raise NoGtin(f"{text!r} is all zeros")
    if check_digit(digits[:-1]) != int(digits[-1]):
        raise NoGtin(f"the check digit of {text!r} is wrong; it would be {check_digit(digits[:-1])}")
    return digits.zfill(14)


def check_digit(digits: str) -> int:
    """Of all but the last digit. Counted from the right, so leading zeros change nothing."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return -total % 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """``problems``: role → why the cell of that role could not be used."""

    title: str | None = None
    brand: str | None = None
    sku: str | None = None
    gtin: str | None = None
    price: Decimal | None = None
    currency: str | None = None
    retailer: str | None = None
    url: str | None = None
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def can_be_looked_up(self) -> bool:
        return bool(self.gtin or self.sku or self.title)

    def normalized(self) -> dict[str, Any]:
        """As it is stored with the result: only what is there."""
        found: dict[str, Any] = {"title": self.title, "brand": self.brand, "sku": self.sku, "gtin": self.gtin}
        found |= {"price": None if self.price is None else float(self.price), "currency": self.currency}
        found |= {"retailer": self.retailer, "url": self.url, "problems": dict(self.problems) or None}
        return {name: value for name, value in found.items() if value is not None}


def understand(roles: Mapping[str, int], cells: Sequence[str]) -> Understood:
    """A cell that makes no sense becomes a problem, never an error: the others may be enough."""
    texts = {role: tidy(cells[index]) for role, index in roles.items() if index < len(cells)}
    found: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for role, longest in _LONGEST.items():
        text = texts.get(role, "")
        if len(text) > longest:
            problems[role] = f"it has {len(text):,} characters; at most {longest} are used"
        elif text:
            found[role] = text.upper() if role == "sku" else text
    if texts.get("gtin"):
        try:
            found["gtin"] = gtin_of(texts["gtin"])
        except NoGtin as error:
            problems["gtin"] = str(error)
    if texts.get("price"):
        found["price"] = price_of(texts["price"])
        if found["price"] is None:
            problems["price"] = f"{texts['price'][:50]!r} is no price"
    found["currency"] = currency_of(texts.get("currency", "")) or currency_of(texts.get("price", ""))
    return Understood(**found, problems=problems)


def price_of(text: str) -> Decimal | None:
    """1.234,56 and 1,234.56 and 1'234.56: the last sign counts as decimal, unless it stands before three digits."""
    digits = _NOT_PRICE.sub("", text).replace("'", "").strip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    whole, rest = (digits, "") if last < 0 else (digits[:last], digits[last + 1 :])
    if len(rest) == 3 and whole.strip("-") not in ("", "0"):
        whole, rest = whole + rest, ""
    plain = whole.replace(".", "").replace(",", "")
    try:
        price = Decimal(f"{plain}.{rest}" if rest else plain)
    except InvalidOperation:
        return None
    return price.quantize(Decimal("0.0001")).normalize() + 0 if 0 <= price < _LARGEST_PRICE else None


def currency_of(text: str) -> str | None:
    for sign, code in _SIGNS.items():
        if sign in text:
            return code
    found = _CODE.search(text.upper())
    return found[0] if found else None
