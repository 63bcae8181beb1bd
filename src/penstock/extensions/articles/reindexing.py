"""Embedding many articles again, as one job that can be watched, paused and cancelled like any other.

The ids are read and stored page by page in one transaction: a million articles need no memory, and a re-index is there
as a whole or not at all.
"""

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, get_args

import orjson

from penstock.errors import IllegalMove, UsageError
from penstock.extensions.articles import chunking, generations
from penstock.extensions.articles.articles import Operation
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.indexing.order import Order, enqueue_many, new_job
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.shared import ArticleSearch
from penstock.storage.queries import load

_sql = load("reindexing", "penstock.extensions.articles")
_moves = load("generation_moves", "penstock.extensions.articles")
Connection = Any

PAGE_IDS = 20_000
# Counting a million articles takes seconds, and nobody waits for it but the one who asked.
_LONG_SECONDS = 300.0
# Fewer than this say little about the speed.
_LEAST_MEASURED = 20


Scope = Literal["all", "missing", "stale", "outdated", "failed"]
"""``all``: every article; a text that is unchanged is not embedded again unless it is forced. ``outdated``: missing or
stale. ``failed``: not up to date, and an embedding of it ended in an error."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is wanted. ``generation``: its id, None for the active one. ``author``: the owner of the articles; ``since``
    and ``until``: when they were last changed, the second one not included. ``force``: also what did not change."""

    scope: Scope = "all"
    generation: int | None = None
    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    force: bool = False

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise UsageError(f"The scope {self.scope!r} is not known. Use one of {', '.join(SCOPES)}.")
        for name, at in (("since", self.since), ("until", self.until)):
            if at is not None and at.tzinfo is None:
                raise UsageError(f"{name} = {at.isoformat()} has no time zone. Add one, such as +00:00.")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise UsageError(f"since ({self.since.isoformat()}) is not before until ({self.until.isoformat()}).")

    @property
    def filter(self) -> tuple[Scope, str | None, datetime | None, datetime | None]:
        """As the queries take it."""
        return (self.scope, self.author, self.since, self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a re-index would do. ``seconds_estimated`` None: nothing was embedded lately to go by."""

    generation: str
    articles: int
    chunks_estimated: int
    chunks_per_second: float | None
    seconds_estimated: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A job that still has tasks to do. ``wanted``: its re-index as stored, empty for an import."""

    job_id: int
    wanted: dict[str, Any]
    paused: bool
    present: int


class ReindexStarting(UsageError):
    """Somebody else queues one at this moment; whether it is the same cannot be seen yet."""

    def __init__(self) -> None:
        super().__init__("Another re-index is being queued at this moment. Nothing was queued; try again shortly.")


class ReindexRunning(IllegalMove):
    """The same articles are being embedded already; a second job would do nothing but double the work."""

    def __init__(self, plan: Plan, generation: Generation, job_id: int, *, paused: bool) -> None:
        self.job_id = job_id
        self.move, self.state, self.allowed_from = "re-index", "PAUSED" if paused else "RUNNING", ()
        next_step = f"`penstock jobs resume {job_id}` lets it go on." if paused else f"`penstock jobs show {job_id}`."
        Exception.__init__(
            self,
            f"Job {job_id} re-indexes the same articles ({plan.scope}, generation {generation.name!r}) already"
            f"{' and is paused' if paused else ''}. Nothing was queued; {next_step}",
        )


async def chosen_generation(connection: Connection, generation_id: int | None) -> Generation:
    """The one that is named, or the active one; one that was dropped cannot be filled."""
    if generation_id is None:
        return await generations.active(connection)
    build = "Build a new one: `penstock articles generations build`."
    return await generations.require_kept(connection, generation_id, move="re-index", next_step=build)


async def plan(connection: Connection, wish: Plan) -> Planned:
    """Counts exactly; chunks by the sizes of the texts, time by how fast the last ones came."""
    generation = await chosen_generation(connection, wish.generation)
    cutting = chunking.parse(generation.chunker)
    values = (generation.id, *wish.filter, PIPELINE, cutting.size, cutting.overlap)
    row = await connection.fetchrow(_sql.plan, *values, timeout=_LONG_SECONDS)
    per_second = await speed(connection, generation.id)
    return Planned(
        generation=generation.name,
        articles=row["articles"],
        chunks_estimated=row["chunks"],
        chunks_per_second=per_second,
        seconds_estimated=row["chunks"] / per_second if per_second else None,
    )


async def start(search: ArticleSearch, wish: Plan, by: str) -> int | None:
    """The job, or None where no article needs it. Raises ReindexRunning where the same one runs."""
    async with search.app.connection() as connection, connection.transaction():
        job_id, count = await start_on(search, connection, wish, by)
    if job_id is not None:
        tell_started(search, wish, job_id, count, by)
    return job_id


async def start_on(
    search: ArticleSearch, connection: Connection, wish: Plan, by: str, *, catch_up: bool = False
) -> tuple[int | None, int]:
    """(job, articles), in the transaction that is open on ``connection``. ``catch_up``: the last look of a build, which
    leaves out what has failed."""
    if not await connection.fetchval(_sql.only_one_at_a_time):
        raise ReindexStarting
    generation = await chosen_generation(connection, wish.generation)
    wanted = _wanted(wish, generation)
    for one in await unfinished(connection):
        if one.wanted == wanted:
            raise ReindexRunning(wish, generation, one.job_id, paused=one.paused)
    job_id, count = None, 0
    async for ids in _pages(connection, wish, generation.id, but_failed=catch_up):
        if job_id is None:
            name = f"Re-index {wish.scope} into {generation.name}"
            about = {"reindex": wanted} | ({"catch_up": True} if catch_up else {})
            job_id = await new_job(search.app, connection, name, owner=by, **about)
        # Without a revision: whatever is current when its turn comes.
        into, why = generation.id, Operation.REINDEX
        orders = (Order(article=one, revision=None, generation=into, operation=why, force=wish.force) for one in ids)
        await enqueue_many(search.app, connection, orders, owner=by, priority="low", job_id=job_id)
        count += len(ids)
    if job_id is not None and generation.state is GenerationState.BUILDING:
        await connection.execute(_moves.follow_job, generation.id, job_id)
    return job_id, count


def tell_started(search: ArticleSearch, wish: Plan, job_id: int, count: int, by: str) -> None:
    search.app.events.emit(
        "articles.reindexed", job=job_id, scope=wish.scope, generation=wish.generation, count=count, by=by
    )


async def unfinished(connection: Connection) -> list[Unfinished]:
    """Jobs that fill the index now or will when they are resumed: re-indexes and imports."""
    rows = await connection.fetch(_sql.unfinished, PIPELINE)
    return [
        Unfinished(
            job_id=row["job_id"],
            wanted=orjson.loads(row["metadata"]).get("reindex", {}),
            paused=row["paused"],
            present=row["present"],
        )
        for row in rows
    ]


async def speed(connection: Connection, generation_id: int) -> float | None:
    """Chunks per second while there was work lately; None where too little was done to tell."""
    row = await connection.fetchrow(_sql.speed, generation_id)
    if row["measured"] < _LEAST_MEASURED or not row["per_second"]:
        return None
    return float(row["per_second"])


async def embedded_lately(connection: Connection, generation_id: int, seconds: float) -> int:
    count: int = await connection.fetchval(_sql.embedded_lately, generation_id, seconds)
    return count


async def _pages(
    connection: Connection, wish: Plan, generation_id: int, *, but_failed: bool
) -> AsyncIterator[list[int]]:
    after = 0
    while True:
        values = (generation_id, after, *wish.filter, PAGE_IDS, PIPELINE, but_failed)
        rows = await connection.fetch(_sql.page, *values, timeout=_LONG_SECONDS)
        if rows:
            yield [row["id"] for row in rows]
            after = rows[-1]["id"]
        if len(rows) < PAGE_IDS:
            return


def _wanted(wish: Plan, generation: Generation) -> dict[str, Any]:
    """As its job keeps it; equal ones are the same re-index."""
    stored = asdict(wish) | {"generation": generation.id}
    times = {name: at.isoformat() for name, at in (("since", wish.since), ("until", wish.until)) if at is not None}
    return stored | times
