"""What a row of a file says about a product, as far as it could be understood."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.extensions.catalogue.folding import tidy
from penstock.extensions.catalogue.gtin import NoGtin, gtin_of

_LONGEST = {"title": 500, "brand": 200, "sku": 100, "retailer": 200, "url": 2000}
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
_CODE = re.compile(r"\b[A-Z]{3}\b")
_NOT_PRICE = re.compile(r"[^\d.,'\-]")
_LARGEST_PRICE = Decimal(10) ** 11


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
