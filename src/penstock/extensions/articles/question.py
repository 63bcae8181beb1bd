"""What is asked of a search, and what it answers."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from penstock.errors import UsageError
from penstock.extensions.articles.articles import Visibility
from penstock.extensions.articles.coverage import Coverage
from penstock.extensions.articles.embedding_tasks import Chip
from penstock.extensions.articles.fusion import MOST_FUSED, Score
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.near.filter import Filter
from penstock.extensions.articles.passages import ShownPassage
from penstock.insight.record import WIRE

Mode = Literal["hybrid", "semantic", "keyword"]
MOST_CHARACTERS = 1000
_MOST_HITS = MOST_FUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``viewer`` None: sees everything. ``since`` (included), ``until`` (not): of the last change. ``after``: hits that
    were shown before. ``generation`` None: the active one."""

    text: str
    mode: Mode = "hybrid"
    viewer: str | None
    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 10
    after: int = 0
    generation: Generation | None = None

    def __post_init__(self) -> None:
        _check_text(self.text)
        if self.mode not in ("hybrid", "semantic", "keyword"):
            raise UsageError(f"There is no search mode {self.mode!r}. Use hybrid, semantic or keyword.")
        if not 1 <= self.limit <= _MOST_HITS:
            raise UsageError(f"A search gives 1 to {_MOST_HITS} articles at a time, not {self.limit}.")
        if self.after < 0:
            raise UsageError(f"A page cannot start after {self.after} articles. Use 0 for the first page.")

    @property
    def filter(self) -> Filter:
        return Filter(viewer=self.viewer, author=self.author, since=self.since, until=self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """`stale`: the vectors that found it are of an older text."""

    __pydantic_config__ = WIRE

    slug: str
    title: str
    author: str
    visibility: Visibility
    updated_at: datetime
    chip: Chip
    stale: bool
    score: Score
    passage: ShownPassage


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """``mode``: how it was answered; ``notice``: why that is not ``asked_mode``, or what else to know. ``next``: what
    ``after`` gives the next page; None: this was the last."""

    mode: Mode
    asked_mode: Mode
    notice: str | None
    hits: list[Hit]
    next: int | None
    coverage: Coverage
    took_ms: dict[str, float] = field(default_factory=dict)


def _check_text(text: str) -> None:
    if not text.strip():
        raise UsageError("The query is empty. Write at least one word.")
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"The query has {len(text):,} characters; at most {MOST_CHARACTERS:,} are searched for. Shorten it."
        )
    if "\0" in text:
        raise UsageError("The query holds a NUL character, which no text has. Remove it.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError("The query holds half a character (a lone surrogate), which no text has. Remove it.")
