"""The task ``articles.build``: brings a generation to where it should be, one look at a time.

While its job runs it only looks. Then it queues what is still missing (saves that read the list of generations before
the new one was there), builds the index, and marks it ready. What failed is not queued a second time. Articles that
cannot be embedded do not hold it up: they are told in its note. Where none could be embedded it waits for a person.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import orjson

from penstock import Context, Done, JobState, Skip, Snooze
from penstock.core import job_counts
from penstock.core.job_counts import JobCounts
from penstock.errors import JobNotFound, PenstockError
from penstock.extensions.articles import ann, generations, reindexing
from penstock.extensions.articles.errors import Category, category_of_stored
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.reindexing import Plan, ReindexRunning, ReindexStarting
from penstock.extensions.articles.shared import ArticleSearch
from penstock.storage.queries import load

_sql = load("generation_moves", "penstock.extensions.articles")
Connection = Any

_LONG_SECONDS = 300.0
_SHORTEST_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 1.0, 30.0
_SECONDS_PER_ARTICLE = 0.1
_PERSON_SECONDS = 10.0
# Somebody who repairs what failed wants to see that it worked; after an hour nobody is there.
_REPAIR_SECONDS, _REPAIR_LOOK_SECONDS = 3600.0, 3.0
# A save takes milliseconds; a transaction that writes for longer is somebody else's.
_RACED_SECONDS = 60.0
_RACED_LOOK_SECONDS = 0.05
_LOCK_TIMEOUT = "200ms"
_LOCK_TRIES = 20
_LOCK_PAUSE_SECONDS = 0.3
_FORGET_ROWS = 10_000

_LONGEST_CAUSE = 500
_NEXT_STEPS = {
    Category.TRANSIENT: "When the embedder answers again: `penstock articles retry-failed --category transient`.",
    Category.CONFIGURATION: "Change what the error names, then "
    "`penstock articles retry-failed --category configuration`.",
    Category.DATA: "The texts are refused: drop it and build one of another embedder, or with shorter chunks.",
    Category.RESOURCE: "Free memory, disk or quota, then `penstock articles retry-failed --category resource`.",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """The newest one of a generation. ``error``: as the engine keeps it; ``age_seconds``: since then."""

    error: Mapping[str, Any]
    age_seconds: float

    @property
    def cause(self) -> str:
        """With its category, and a full stop."""
        message = str(self.error.get("message") or "no message was kept").strip()[:_LONGEST_CAUSE]
        stop = "" if message.endswith((".", "!", "?")) else "."
        return f"{category_of_stored(self.error).value}: {message}{stop}"

    @property
    def next_step(self) -> str:
        return _NEXT_STEPS[category_of_stored(self.error)]


def needs_a_person(note: str | None) -> bool:
    """Of a generation that is being built: whoever waits for it may as well stop, because it does not go on alone."""
    return note is not None and (" be embedded (" in note or " was cancelled. " in note)


async def bring_on(search: ArticleSearch, ctx: Context, generation_id: int, *, remove: bool = False) -> Any:
    """``remove``: the task that a drop has queued for later; others leave a dropped generation alone."""
    async with search.app.connection() as connection:
        found = await generations.get(connection, generation_id)
    if found is None:
        return Skip(f"There is no generation {generation_id}.")
    if found.state is GenerationState.DROPPED:
        return await _remove(search, found) if remove else Skip("It was dropped.")
    if found.state is GenerationState.BUILDING:
        outcome = await _make_ready(search, ctx, found)
        if isinstance(outcome, Snooze):
            await _note(search, found, outcome.reason)
        return outcome
    built = await ann.build_index(search.app, found)  # it is in use, and has grown
    if built is ann.Outcome.UNDER_WAY:
        return Snooze(_LONGEST_LOOK_SECONDS, "its index is being built elsewhere")
    return Done({"index": built.value})


async def _make_ready(search: ArticleSearch, ctx: Context, generation: Generation) -> Any:
    for look in (_unfilled, _caught_up):
        if (wait := await look(search, generation)) is not None:
            return wait
    # What the last look could not bring up to date, and what was saved since and failed.
    async with search.app.connection() as connection:
        began = await connection.fetchval(_sql.job_began, generation.job_id)
        failed: int = await connection.fetchval(_sql.left_out, generation.id, began, PIPELINE, timeout=_LONG_SECONDS)
    if failed and (wait := await _none_embedded(search, generation, failed)) is not None:
        return wait
    try:
        outcome = await ann.build_index(search.app, generation)
        await ann.analyze(search.app, generation)
    except (asyncpg.PostgresError, PenstockError) as error:
        if ctx.attempt < ctx.max_attempts:
            await _note(search, generation, f"Its index could not be built yet: {error}")
            raise
        outcome = ann.Outcome.NO_PGVECTOR  # scanned, until upkeep succeeds
    if outcome is ann.Outcome.UNDER_WAY:
        return Snooze(_LONGEST_LOOK_SECONDS, "Its index is being built.")
    return await _ready(search, generation, failed, outcome)


async def _none_embedded(search: ArticleSearch, generation: Generation, failed: int) -> Snooze | None:
    """None: something is in it, or nothing failed."""
    async with search.app.connection() as connection:
        if await connection.fetchval(_sql.any_indexed, generation.id):
            return None
        failure = await _newest_failure(connection, generation)
    if failure is None:
        return None
    pause_seconds = _REPAIR_LOOK_SECONDS if failure.age_seconds < _REPAIR_SECONDS else _LONGEST_LOOK_SECONDS
    which = "The only article could not" if failed == 1 else f"None of {failed:,} articles could"
    return Snooze(pause_seconds, f"{which} be embedded ({failure.cause}) {failure.next_step}")


async def _ready(search: ArticleSearch, generation: Generation, failed: int, outcome: ann.Outcome) -> Any:
    async with search.app.connection() as connection:
        note = None
        if failed:
            # It is ready all the same: what is missing is found by its words.
            failure = await _newest_failure(connection, generation)
            which = "article is" if failed == 1 else "articles are"
            why = "" if failure is None else f" (the last: {failure.cause})"
            note = (
                f"{failed:,} {which} not in it, because their embedding failed{why}: "
                f"`penstock articles reindex --generation {generation.id} --scope failed`."
            )
        if await connection.fetchval(_sql.ready, generation.id, note) is None:
            return Skip("It was dropped meanwhile.")
    ready = replace(generation, state=GenerationState.READY)
    generations.emit_move(search.app, ready, "ready", failed=failed, index=outcome.value)
    return Done({"failed": failed, "index": outcome.value})


async def _note(search: ArticleSearch, generation: Generation, text: str) -> None:
    async with search.app.connection() as connection:
        await connection.execute(_sql.note, generation.id, text)


async def _unfilled(search: ArticleSearch, generation: Generation) -> Snooze | None:
    """None: the job that fills it has ended, or there is none."""
    job_id = generation.job_id
    if job_id is None:
        return None
    async with search.app.connection() as connection:
        try:
            state, counts = await job_counts.read(connection, job_id)
        except JobNotFound:
            return None
        began = await connection.fetchval(_sql.job_began, job_id)
    done = f"{counts.finished:,} of {counts.total:,} articles are through"
    match state:
        case JobState.QUEUED | JobState.RUNNING:
            age_seconds = 0.0 if began is None else time.time() - began.timestamp()
            return Snooze(look_seconds(counts, age_seconds), f"{done} (job {job_id}).")
        case JobState.PAUSED:
            return Snooze(_PERSON_SECONDS, f"{done}; job {job_id} is paused: `penstock jobs resume {job_id}`.")
        case JobState.CANCELLED if await _outdated(search, generation):
            reason = (
                f"Job {job_id} was cancelled. "
                f"`penstock articles reindex --generation {generation.id} --scope outdated` goes on."
            )
            return Snooze(_PERSON_SECONDS, reason)
        case _:
            return None


def look_seconds(counts: JobCounts, age_seconds: float) -> float:
    """A tenth of the time that is left: a build of hours is not looked at every second. Of a job that stood still for a
    while the age says nothing, so a few articles are never waited for long."""
    left = counts.total - counts.finished
    remaining = left * age_seconds / counts.finished if counts.finished else _SHORTEST_LOOK_SECONDS
    pause = min(remaining / 10, left * _SECONDS_PER_ARTICLE)
    return min(max(pause, _SHORTEST_LOOK_SECONDS), _LONGEST_LOOK_SECONDS)


async def _caught_up(search: ArticleSearch, generation: Generation) -> Snooze | None:
    """None: a second look at all articles was taken, or has nothing to do. What failed is left to a person: the same
    embedding would only fail again."""
    app = search.app
    async with app.connection() as connection:
        if generation.job_id is not None and await _is_catch_up(connection, generation.job_id):
            return None
        # Saves may not have seen the new generation; those that begin now see it.
        number = await connection.fetchval(_sql.next_transaction)
        end = time.monotonic() + _RACED_SECONDS
        while not await all_ended_before(connection, number) and time.monotonic() < end:
            await asyncio.sleep(_RACED_LOOK_SECONDS)
        wish = Plan(scope="outdated", generation=generation.id)
        try:
            async with connection.transaction():
                job_id, count = await reindexing.start_on(
                    search, connection, wish, generation.created_by, catch_up=True
                )
        except ReindexRunning as running:
            await connection.execute(_sql.follow_job, generation.id, running.job_id)
            return Snooze(_SHORTEST_LOOK_SECONDS, f"Job {running.job_id} fills it.")
        except ReindexStarting:
            return Snooze(_SHORTEST_LOOK_SECONDS, "Another re-index is being queued.")
    if job_id is None:
        return None
    reindexing.tell_started(search, wish, job_id, count, generation.created_by)
    return Snooze(_SHORTEST_LOOK_SECONDS, f"A last look: {count:,} articles are not up to date in it (job {job_id}).")


async def all_ended_before(connection: Connection, number: str) -> bool:
    ended: bool = await connection.fetchval(_sql.all_ended_before, number)
    return ended


async def _is_catch_up(connection: Connection, job_id: int) -> bool:
    try:
        return bool((await job_counts.metadata_of(connection, job_id)).get("catch_up"))
    except JobNotFound:
        return False


async def _newest_failure(connection: Connection, generation: Generation) -> Failure | None:
    row = await connection.fetchrow(_sql.newest_failure, generation.id, PIPELINE, timeout=_LONG_SECONDS)
    return None if row is None else Failure(orjson.loads(row["error"]), row["age_seconds"])


async def _outdated(search: ArticleSearch, generation: Generation) -> int:
    async with search.app.connection() as connection:
        return (await reindexing.plan(connection, Plan(scope="outdated", generation=generation.id))).articles


async def _remove(search: ArticleSearch, generation: Generation) -> Any:
    """The table of a dropped generation. Waits for nobody long: whoever comes behind a waiting lock waits too."""
    for _ in range(_LOCK_TRIES):
        try:
            async with search.app.connection() as connection, connection.transaction():
                await connection.execute(_sql.hurry, _LOCK_TIMEOUT)
                await connection.execute(generation.query(_sql.drop_vectors))
            break
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            await asyncio.sleep(_LOCK_PAUSE_SECONDS)
    else:
        return Snooze(_LONGEST_LOOK_SECONDS, "somebody still reads its vectors")
    forgotten = await generations.in_batches(search.app, _sql.forget_indexed, generation.id, most=_FORGET_ROWS)
    generations.emit_move(search.app, generation, "remove")
    return Done({"forgotten": forgotten})
