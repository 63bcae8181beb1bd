"""The contract of providers: one question, one answer or none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from penstock import Context
from penstock.errors import ThrottledError
from penstock.extensions.catalogue.understood import Understood

Kind = Literal["gtin", "sku", "brand+title", "title"]
FIELDS = ("title", "brand", "price", "currency", "retailer", "url")
# What an answer may say as well, to be held against the row.
NUMBERS = ("gtin", "sku")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked for. Titles and brands are folded; ``loose``: a wider guess, spelling and sizes may differ.
    ``row``: what answers are held against."""

    kind: Kind
    gtin: str | None = None
    sku: str | None = None
    brand: str | None = None
    title: str | None = None
    loose: bool = False
    row: Understood = field(default=Understood(), repr=False, compare=False)

    @property
    def by_number(self) -> bool:
        return self.kind in ("gtin", "sku")

    @property
    def text(self) -> str:
        """What a search box would be given."""
        match self.kind:
            case "gtin":
                return self.gtin or ""
            case "sku":
                return self.sku or ""
            case "brand+title":
                return f"{self.brand} {self.title}"
            case "title":
                return self.title or ""

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """``fields``: those of FIELDS that the provider knows. ``score``: 1 for an exact number."""

    match: str
    score: float
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a provider said, before anybody believes it. ``gtin``: 14 digits, or None."""

    gtin: str | None = None
    sku: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str | None:
        return self.fields.get("title")

    @property
    def brand(self) -> str | None:
        return self.fields.get("brand")


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that is about another product. ``why``: for people."""

    why: str


class NotAsked(ThrottledError):
    """It is not the time to ask: a budget is used up, or the circuit is open. No question was put."""


class Provider(Protocol):
    """``cost`` is what one question costs, in whatever the operator counts."""

    name: str
    cost: float

    def serves(self, query: Query) -> bool:
        """Whether this kind of question can be put at all."""

    async def look_up(self, query: Query, ctx: Context) -> Hit | Rejected | None:
        """None: it does not know the product. A hit was verified against the row. Raises the handler errors of
        ``penstock.errors`` for everything else."""
