"""What every source of candidates does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import PermanentError
from penstock.extensions.linking.entity import Entity


class SourceMisconfigured(PermanentError):
    """Needs a person: the sentence says what to set."""


class Budget(Protocol):
    """The fleet's limiter of a source's key: ``ctx.limiter(source.key)``. A source takes one permit per request itself,
    and tells it what answers say about limits, so nobody else takes permits around a call."""

    async def acquire(self, weight: int = 1) -> None: ...

    async def learn(self, headers: Mapping[str, str], status: int | None = None) -> float | None: ...

    async def penalise(self, retry_after_seconds: float, reason: str = "") -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``ids``: best first. ``entities``: those that the search itself told all about; the others are to be fetched."""

    ids: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()


class Source(Protocol):
    """``key``: of its limiter.

    Both calls raise TransientError (no answer, 5xx, a web page in the place of JSON), ThrottledError (it asked to wait;
    the limiter was told) or PermanentError (it refuses this question).
    """

    @property
    def key(self) -> str: ...

    async def search(
        self, query: str, language: str, *, types: Sequence[str] = (), limit: int = 7, limiter: Budget
    ) -> Found:
        """``types`` are a wish: a source that cannot search by them ignores them."""
        ...

    async def entities(
        self, ids: Sequence[str], *, languages: Sequence[str] = (), properties: Sequence[str] = (), limiter: Budget
    ) -> dict[str, Entity | None]:
        """Asked id → entity, whose own id differs after a redirect. None: there is no such thing.

        ``languages``: of names, beside those of the settings. ``properties``: what to tell of it, for sources that do
        not tell everything anyway.
        """
        ...

    async def close(self) -> None: ...
