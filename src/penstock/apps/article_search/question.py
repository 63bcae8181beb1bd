"""What is asked of a search, and what it answers."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from penstock.apps.article_search.article import Summary
from penstock.apps.article_search.coverage import Coverage
from penstock.apps.article_search.fusion import MOST_FUSED, Score
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.near.filter import Filter
from penstock.apps.article_search.passages import Shown
from penstock.apps.article_search.standing import Standing
from penstock.errors import UsageError

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
        problem = _problem(self.text)
        if problem is not None:
            raise UsageError(problem)
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
    """``stale``: found by an older text than the current one."""

    article: Summary
    standing: Standing
    score: Score
    passage: Shown
    stale: bool


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


def _problem(text: str) -> str | None:
    if not text.strip():
        return "The query is empty. Write at least one word."
    if len(text) > MOST_CHARACTERS:
        return f"The query has {len(text):,} characters; at most {MOST_CHARACTERS:,} are searched for. Shorten it."
    if "\0" in text:
        return "The query holds a NUL character, which no text has. Remove it."
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "The query holds half a character (a lone surrogate), which no text has. Remove it."
    return None
