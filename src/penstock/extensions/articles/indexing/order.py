"""What an embedding task asks for, how it is queued, and what became of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from penstock import EnqueueOptions, Penstock
from penstock.extensions.articles.articles import Operation
from penstock.extensions.articles.names import PIPELINE

Connection = Any


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
        return cls(**{**given, "operation": Operation(given["operation"])})

    @property
    def facts(self) -> dict[str, Any]:
        """For events."""
        return {
            "article": self.article,
            "operation": self.operation.value,
            "revision": self.revision,
            "generation": self.generation,
        }

    def as_input(self) -> dict[str, Any]:
        return self.facts | ({"force": True} if self.force else {})


async def enqueue(app: Penstock, connection: Connection, order: Order, *, owner: str, priority: str) -> int:
    """One embedding task, in the transaction that is open on ``connection``; here and below."""
    options = EnqueueOptions(priority=priority, owner=owner)
    return (await app.store(app.pipelines[PIPELINE], order.as_input(), options, connection)).id


async def enqueue_many(
    app: Penstock, connection: Connection, orders: Iterable[Order], *, owner: str, priority: str, job_id: int | None
) -> None:
    rows = (orjson.dumps(order.as_input()).decode() for order in orders)
    options = EnqueueOptions(priority=priority, owner=owner, job_id=job_id)
    await app.store_rows(connection, app.pipelines[PIPELINE], rows, options)


async def new_job(app: Penstock, connection: Connection, name: str, *, owner: str, **metadata: Any) -> int:
    """Without tasks yet; many embeddings at once make way for those that somebody waits for."""
    options = EnqueueOptions(priority="low", owner=owner)
    about = {"type": "articles", **metadata}
    pipeline = app.pipelines[PIPELINE]
    return (await app.store_many(pipeline, (), options, name=name, metadata=about, connection=connection)).id


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
