"""The embedding queue as people see it and tidy it up: exact figures, tasks, retry, clear, leftovers, schedules."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from typing import Any

import asyncpg
import orjson
import pytest

from penstock import Penstock
from penstock.config import Settings, load
from penstock.core.job_counts import read as read_job
from penstock.errors import InvalidSetting
from penstock.events import Event, Events
from penstock.extensions.articles import embedding_tasks, upkeep
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.statistics import counts, statistics
from penstock.lifecycle import JobState, State
from penstock.storage import counts as counters
from penstock.storage import queue as queue_table
from penstock.storage.queries import load as load_queries
from penstock.upkeep.duties import Retention
from tests.extensions.articles_queue import EmbeddingQueue, History, embedding_queue

MISCONFIGURED = {"type": "EmbedderMisconfigured", "class": "permanent", "message": "Set KEY and retry."}
REFUSED = {"type": "TextRefused", "class": "permanent", "message": "This text is refused."}


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
async def app(database_url: str, told: list[Event]) -> AsyncIterator[Penstock]:
    async with Penstock("test", settings=load(database_url=database_url), events=Events([told.append])) as opened:
        yield opened


@pytest.fixture
async def queue(app: Penstock, connection: asyncpg.Connection) -> EmbeddingQueue:
    return await embedding_queue(app, connection)


def tallied(queue_counts: object) -> dict[str, int]:
    tally = asdict(queue_counts)  # type: ignore[call-overload]
    assert tally.pop("total") == sum(tally.values())
    return tally


# ---------------------------------------------------------------- statistics


@pytest.mark.parametrize("seed", range(12))
async def test_statistics_equal_a_plain_count_after_every_move_of_a_random_history(queue: EmbeddingQueue, seed: int):
    history = History(queue, seed)
    made = []
    for _ in range(120):
        made.append(await history.step())
        assert tallied(await counts(queue.connection)) == await queue.plain_count(), made


async def test_statistics_are_those_of_one_moment_while_tasks_move(queue: EmbeddingQueue, database_url: str):
    reader = await asyncpg.connect(database_url)
    history = History(queue, seed=77)

    async def move() -> None:
        for _ in range(150):
            await history.step()

    moving = asyncio.create_task(move())
    seen = set()
    try:
        while not moving.done():
            async with reader.transaction(isolation="repeatable_read", readonly=True):
                told = tallied(await counts(reader))
                # Whatever has been committed meanwhile, the plain count looks at the same snapshot.
                assert told == await replace(queue, world=replace(queue.world, connection=reader)).plain_count()
            seen.add(tuple(told.values()))
        await moving
    finally:
        moving.cancel()
        await reader.close()
    assert len(seen) > 10


async def test_a_skipped_embedding_counts_as_completed_and_a_cancelled_one_apart(queue: EmbeddingQueue):
    for state in (State.DONE, State.SKIPPED, State.ERROR):
        await queue.run(await queue.put(), state)
    assert await queue_table.cancel(queue.connection, await queue.put(), "ann") == (True, False)
    await queue.put()
    found = await statistics(queue.app)
    assert tallied(found.queue) == {"pending": 1, "processing": 0, "completed": 2, "failed": 1, "cancelled": 1}
    assert found.queue.total == 5


async def test_statistics_read_few_rows_of_a_hundred_thousand_tasks(queue: EmbeddingQueue):
    await queue.connection.execute(
        """
        with made as (
            insert into penstock.tasks (entry, owner, input)
            select $1, 'ann', '{}' from generate_series(1, 100000) returning id
        ), ended as (
            insert into penstock.outcomes (task_id, lane, stage, status, attempts, run)
            select id, $2, $1, 2, 1, 1 from made where id % 2 = 0 returning task_id
        ), waiting as (
            insert into penstock.queue (task_id, lane, stage) select id, $2, $1 from made where id % 2 = 1
        )
        insert into penstock.counts (lane, stage, state, n) values ($2, $1, 0, 100000), ($2, $1, 2, 50000)
        """,
        queue.world.stages[0],
        queue.world.lane,
    )
    found = await statistics(queue.app)
    assert (found.queue.pending, found.queue.completed) == (50_000, 50_000)
    sql = load_queries("statistics", "penstock.extensions.articles")
    for query, arguments in ((sql.counts, [PIPELINE]), (sql.worker, [PIPELINE]), (sql.freshness, [])):
        assert await _rows_read(queue.connection, query, *arguments) < 1000


async def _rows_read(connection: asyncpg.Connection, query: str, *arguments: Any) -> float:
    """What the scans of a plan looked at, whether it was of use or not."""
    explained = await connection.fetchval(f"explain (analyze, format json) {query}", *arguments)
    rows, nodes = 0.0, [orjson.loads(explained)[0]["Plan"]]
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", [])
        if "Scan" in node["Node Type"]:
            looked_at = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            rows += node["Actual Loops"] * looked_at
    return rows


async def test_worker_statistics_tell_what_ended_lately_and_who_lives(queue: EmbeddingQueue):
    before = (await statistics(queue.app)).worker
    assert (before.running, before.processed, before.last_processed_at) == (False, 0, None)
    for state in (State.DONE, State.SKIPPED, State.ERROR):
        await queue.run(await queue.put(), state)
    unfolded = (await statistics(queue.app)).worker
    await counters.fold(queue.connection, 1000)
    worker = (await statistics(queue.app)).worker
    assert (worker.running, worker.processed, worker.succeeded, worker.failed) == (True, 3, 2, 1)
    assert (unfolded.processed, unfolded.succeeded) == (3, 2)
    assert worker.heartbeat_at is not None and worker.last_processed_at is not None
    await queue.connection.execute("update penstock.workers set stopped_at = now()")
    assert not (await statistics(queue.app)).worker.running


async def test_freshness_is_of_the_active_generation_and_of_the_last_day(queue: EmbeddingQueue):
    await queue.connection.execute(
        "insert into article_search.indexed (article_id, generation, revision, digest, chunks, waited_ms, embedded_at) "
        "select n, 1, 1, ''::bytea, 1, n * 10, now() from generate_series(1, 100) n "
        "union all select 1000, 1, 1, '', 1, 9000000, now() - interval '25 hours' "
        "union all select 1001, 1, 1, '', 0, 9000000, now() union all select 1002, 2, 1, '', 1, 9000000, now()"
    )
    found = (await statistics(queue.app)).freshness
    assert (found.measured, found.p50_ms) == (100, 505.0)
    assert found.p95_ms == pytest.approx(950.5)


# ---------------------------------------------------------------- tasks


async def test_a_task_tells_what_went_wrong_and_what_to_do(queue: EmbeddingQueue):
    task_id = await queue.put(article=7, operation="update", revision=3, priority=-10)
    (pending,) = await embedding_tasks.page(queue.connection, owner="ann")
    assert (pending.status, pending.article_id, pending.revision, pending.operation) == ("pending", 7, 3, "update")
    assert (pending.priority, pending.attempts, pending.max_attempts, pending.generation) == ("high", 0, 4, "first")
    assert pending.next_run_at is not None and pending.ended_at is None and pending.error is None
    await queue.run(task_id, State.ERROR, error=MISCONFIGURED)
    failed = await embedding_tasks.one(queue.connection, task_id)
    assert failed is not None
    assert (failed.status, failed.category, failed.error) == ("failed", "configuration", "Set KEY and retry.")
    assert "retry-failed" in (failed.advice or "") and failed.ended_at is not None and failed.next_run_at is None


async def test_a_running_task_tells_since_when_and_a_retried_one_why_it_waits(queue: EmbeddingQueue):
    task_id = await queue.put()
    worker = await queue.world.worker()
    (claimed,) = await queue_table.claim_by_id(queue.connection, [task_id], worker)
    running = await embedding_tasks.one(queue.connection, task_id)
    assert running is not None and (running.status, running.started_at is not None) == ("processing", True)
    error = '{"type": "EmbedderBusy", "class": "transient", "message": "status 503"}'
    await queue.world.release(worker, [claimed], cause="retry", burned=True, error=error, delay_seconds=60)
    again = await embedding_tasks.one(queue.connection, task_id)
    assert again is not None
    assert (again.status, again.attempts, again.error, again.category) == ("pending", 1, "status 503", "transient")


async def test_pages_hold_every_task_of_a_status_once(queue: EmbeddingQueue):
    made: dict[str, list[int]] = {"completed": [], "failed": [], "pending": [], "cancelled": []}
    for number in range(21):
        task_id = await queue.put()
        status = list(made)[number % 4]
        made[status].append(task_id)
        if status == "completed":
            await queue.run(task_id, [State.DONE, State.SKIPPED][number % 8 == 0])
        elif status == "failed":
            await queue.run(task_id, State.ERROR)
        elif status == "cancelled":
            await queue_table.cancel(queue.connection, task_id, "ann")
    await queue.put(owner="bob")
    for status, expected in [*made.items(), (None, [one for ids in made.values() for one in ids])]:
        seen: list[int] = []
        while page := await embedding_tasks.page(
            queue.connection, owner="ann", status=status, after=seen[-1] if seen else None, limit=2
        ):
            seen += [one.task_id for one in page]
            assert status is None or {one.status for one in page} == {status}
        assert seen == sorted(expected, reverse=True)
    assert len(await embedding_tasks.page(queue.connection, owner=None)) == 22
    with pytest.raises(InvalidSetting, match="pending, processing"):
        await embedding_tasks.page(queue.connection, owner=None, status="done")


async def test_a_task_of_something_else_is_no_embedding(queue: EmbeddingQueue):
    assert await embedding_tasks.one(queue.connection, 12345) is None


# ---------------------------------------------------------------- retry and clear


async def test_retry_failed_takes_all_or_one_category(queue: EmbeddingQueue, told: list[Event]):
    for error in (MISCONFIGURED, REFUSED, None):
        await queue.run(await queue.put(), State.ERROR, error=error)
    assert await upkeep.retry_failed(queue.app, category="configuration", by="ann") == 1
    assert (await statistics(queue.app)).queue.failed == 2
    assert await upkeep.retry_failed(queue.app, by="ann") == 2
    assert (await statistics(queue.app)).queue.pending == 3
    assert [event.data["count"] for event in told if event.name == "articles.retried"] == [1, 2]
    with pytest.raises(InvalidSetting, match="transient, configuration"):
        await upkeep.retry_failed(queue.app, category="bad luck", by="ann")


async def test_retry_failed_goes_through_more_than_one_page(queue: EmbeddingQueue):
    for _ in range(7):
        await queue.run(await queue.put(), State.ERROR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upkeep, "_BATCH", 3)
        assert await upkeep.retry_failed(queue.app, by="ann") == 7


async def test_clear_takes_old_completed_ones_and_leaves_failed_ones(queue: EmbeddingQueue, told: list[Event]):
    ids = {state: await queue.put() for state in (State.DONE, State.SKIPPED, State.ERROR)}
    for state, task_id in ids.items():
        await queue.run(task_id, state)
    cancelled, waiting = await queue.put(), await queue.put()
    await queue_table.cancel(queue.connection, cancelled, "ann")
    await queue.age(31)
    young = await queue.put()
    await queue.run(young, State.DONE)
    assert await upkeep.clear_completed(queue.app, 30, by="ann") == 3
    left = await embedding_tasks.page(queue.connection, owner=None)
    assert [one.task_id for one in left] == [young, waiting, ids[State.ERROR]]
    assert await queue.connection.fetchval("select count(*) from penstock.tasks") == 3
    assert [event.data["count"] for event in told if event.name == "articles.cleared"] == [3]


async def test_clear_goes_window_by_window_over_what_others_left(queue: EmbeddingQueue):
    await queue.connection.execute(
        "insert into penstock.outcomes (task_id, lane, stage, status, attempts, run) "
        "select n, 1, 999999, 2, 1, 1 from generate_series(1, 5000) n"
    )
    await queue.connection.execute("alter table penstock.tasks alter column id restart with 10000")
    for _ in range(3):
        await queue.run(await queue.put(), State.DONE)
    await queue.age(31)
    assert await upkeep.clear_completed(queue.app, 30, by="ann") == 3
    assert await queue.connection.fetchval("select count(*) from penstock.outcomes") == 5000


async def test_a_job_whose_tasks_were_cleared_is_still_done(queue: EmbeddingQueue):
    job = await queue.connection.fetchval("insert into penstock.jobs (pipeline) values ('articles') returning id")
    for state in (State.DONE, State.SKIPPED):
        await queue.run(await queue.put(job_id=job), state)
    await queue.age(31)
    assert await upkeep.clear_completed(queue.app, 30, by="ann") == 2
    state, counted = await read_job(queue.connection, job)
    assert (state, counted.total, counted.done, counted.skipped) == (JobState.DONE, 2, 1, 1)
    assert (await statistics(queue.app)).queue.total == 0


async def test_statistics_are_exact_after_retention(queue: EmbeddingQueue):
    for state in (State.DONE, State.ERROR):
        await queue.run(await queue.put(), state)
    await queue.age(31)
    await queue.run(await queue.put(), State.DONE)
    await Retention(settings=Settings(retention_days=30)).run_once(queue.connection)
    assert tallied(await counts(queue.connection)) == await queue.plain_count()
    assert (await statistics(queue.app)).queue.total == 1


async def test_more_days_than_anybody_lives_are_refused(queue: EmbeddingQueue):
    for days in (-1, 40_000, float("nan")):
        with pytest.raises(InvalidSetting, match="older than days"):
            await upkeep.clear_completed(queue.app, days, by="ann")


# ---------------------------------------------------------------- leftovers and schedules


async def test_leftovers_of_deleted_articles_go_and_nothing_else(queue: EmbeddingQueue):
    await queue.connection.execute(
        """
        insert into article_search.articles (id, slug, title, owner, words) values (1, 'there', 'There', 'ann', '');
        insert into article_search.indexed (article_id, generation, revision, digest, chunks, embedded_at) values
            (1, 1, 1, '', 1, now() - interval '3 days'),  -- there
            (2, 1, 1, '', 1, now() - interval '3 days'),  -- gone, its delete failed
            (3, 1, 1, '', 0, now() - interval '3 days'),  -- a mark that all have read
            (4, 1, 1, '', 0, now());                      -- a mark that some may not have read
        insert into article_search.vectors_1 (article_id, ordinal, revision, starts, ends, digest, embedding)
        select id, 0, 1, 0, 1, '', '{1}' from unnest(array[1, 2, 5]) id;
        """
    )
    assert await upkeep.remove_leftovers(queue.app) == 3
    marks = await queue.connection.fetch("select article_id, chunks from article_search.indexed order by 1")
    assert [tuple(row) for row in marks] == [(1, 1), (2, 0), (4, 0)]
    assert [row[0] for row in await queue.connection.fetch("select article_id from article_search.vectors_1")] == [1]
    assert await upkeep.remove_leftovers(queue.app) == 0


@pytest.mark.parametrize(
    ("hours", "cron"),
    [
        (0.1, "*/6 * * * *"),
        (0.999, "23 */1 * * *"),
        (1, "23 */1 * * *"),
        (6.5, "23 */6 * * *"),
        (24, "23 4 * * *"),
        (72, "23 4 */3 * *"),
        (8760, "23 4 1 */12 *"),
    ],
)
def test_the_clean_up_is_scheduled_about_as_often_as_asked(hours: float, cron: str):
    assert upkeep.cleanup_cron(hours) == cron
