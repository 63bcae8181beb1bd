"""What an embedding task asks for, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.apps.article_search.article import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """``revision`` None: whatever is current. ``generation`` None: all of them, for a deletion. ``force``: also where
    the text has not changed."""

    article: int
    revision: int | None
    generation: int | None
    operation: Operation
    force: bool = False

    @classmethod
    def from_input(cls, given: Mapping[str, Any]) -> "Order":
        return cls(
            article=given["article"],
            revision=given["revision"],
            generation=given["generation"],
            operation=Operation(given["operation"]),
            force=bool(given.get("force")),
        )

    def as_input(self) -> dict[str, Any]:
        given: dict[str, Any] = {"article": self.article, "operation": self.operation.value}
        given["revision"], given["generation"] = self.revision, self.generation
        return given | ({"force": True} if self.force else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """``reused``: chunks whose text was there before, so that no vector had to be made for them. ``started_at``:
    by the database's clock; None: nothing had to be read."""

    revision: int
    chunks: int
    reused: int
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needless:
    """Nothing had to be done, and why."""

    reason: str


Outcome = Embedded | Needless
