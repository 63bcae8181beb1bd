"""The contract of providers: one question, one answer or none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from penstock import Context
from penstock.errors import ThrottledError

Kind = Literal["gtin", "sku", "brand+title", "title"]
FIELDS = ("title", "brand", "price", "currency", "retailer", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked for. Titles and brands are folded; ``loose``: a wider guess, spelling and sizes may differ."""

    kind: Kind
    gtin: str | None = None
    sku: str | None = None
    brand: str | None = None
    title: str | None = None
    loose: bool = False

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
    """``fields``: those of FIELDS that the provider knows. ``score``: 1 for an exact key."""

    match: str
    score: float
    fields: Mapping[str, Any] = field(default_factory=dict)


class NotAsked(ThrottledError):
    """It is not the time to ask: a budget is used up, or the circuit is open. No question was put."""


class Provider(Protocol):
    """``cost`` is what one question costs, in whatever the operator counts."""

    name: str
    cost: float

    def serves(self, query: Query) -> bool:
        """Whether this kind of question can be put at all."""

    async def look_up(self, query: Query, ctx: Context) -> Hit | None:
        """None: it does not know the product. Raises the handler errors of ``penstock.errors`` for everything else."""
