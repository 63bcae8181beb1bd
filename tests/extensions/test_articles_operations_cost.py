"""What upkeep and alerts of article search cost where there is much of everything, and what they leave."""

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.extensions.articles import alerts, upkeep
from penstock.extensions.articles.names import KEEP_INDEXES, PIPELINE, WATCH
from penstock.lifecycle import State
from penstock.storage.queries import load as load_queries
from penstock.testing import drain
from tests.extensions.article_world import World, article_world
from tests.extensions.articles_queue import EmbeddingQueue, embedding_queue

ARTICLES = 20_000
UPKEEP = load_queries("upkeep", "penstock.extensions.articles")
ALERTS = load_queries("alerts", "penstock.extensions.articles")


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[Penstock]:
    given: dict[str, Any] = {"articles_alert_waiting": 50, "articles_alert_waiting_seconds": 10}
    async with Penstock("test", settings=load(database_url=database_url, **given)) as opened:
        yield opened


@pytest.fixture
async def queue(app: Penstock, connection: asyncpg.Connection) -> EmbeddingQueue:
    return await embedding_queue(app, connection)


async def plan_of(connection: asyncpg.Connection, query: str, *values: Any) -> dict[str, Any]:
    """As it was carried out, without what it did."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        told = await connection.fetchval(f"explain (analyze, buffers, format json) {query}", *values)
    finally:
        await transaction.rollback()
    plan: dict[str, Any] = json.loads(told)[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(one for part in plan.get("Plans", []) for one in nodes(part))]


def scans(plan: dict[str, Any], table: str) -> list[str]:
    return [one.get("Index Name", one["Node Type"]) for one in nodes(plan) if one.get("Relation Name") == table]


async def fill_index(connection: asyncpg.Connection) -> None:
    """Many articles; of every hundredth only the mark is left, of half of these since long."""
    await connection.execute(
        f"""
        insert into article_search.articles (id, slug, title, owner, words)
        select n, 'a' || n, 'A', 'ann', '' from generate_series(1, {ARTICLES}) n where n % 100 <> 0;
        insert into article_search.indexed (article_id, generation, revision, digest, chunks, embedded_at)
        select n, 1, 1, '', (n % 100 <> 0)::integer, now() - interval '2 days' * (n % 200 <> 0)::integer
        from generate_series(1, {ARTICLES}) n;
        analyze article_search.indexed; analyze article_search.articles;
        """
    )


async def test_marks_of_deleted_articles_are_found_by_their_own_index(queue: EmbeddingQueue) -> None:
    await fill_index(queue.connection)
    plan = await plan_of(queue.connection, UPKEEP.forget_tombstones, 500)
    assert sorted(scans(plan, "indexed")) == ["ModifyTable", "Tid Scan", "indexed_gone"]
    assert "Seq Scan" not in scans(plan, "articles")
    assert await upkeep.remove_leftovers(queue.app) == ARTICLES // 200
    assert await queue.connection.fetchval("select count(*) from article_search.indexed") == ARTICLES * 199 // 200


async def test_all_marks_go_however_many_batches_it_takes(
    queue: EmbeddingQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_MARKS", 7)
    await fill_index(queue.connection)
    assert await upkeep.remove_leftovers(queue.app) == ARTICLES // 200
    assert await upkeep.remove_leftovers(queue.app) == 0


async def test_what_is_left_of_a_dropped_generation_is_found_by_its_index(queue: EmbeddingQueue) -> None:
    await fill_index(queue.connection)
    await queue.connection.execute(
        """
        insert into article_search.generations (name, embedder, model, dimensions, chunker, state, created_by)
        values ('gone', 'builtin', 'm', 1, 'c', 'dropped', 'ann');
        insert into article_search.indexed (article_id, generation, revision, digest, chunks)
        select n, (select max(id) from article_search.generations), 1, '', 1 from generate_series(1, 9) n;
        """
    )
    plan = await plan_of(queue.connection, UPKEEP.forget_dropped, 500)
    assert "Seq Scan" not in scans(plan, "indexed")
    assert await upkeep.remove_leftovers(queue.app) == ARTICLES // 200 + 9


async def test_a_long_queue_is_counted_only_as_far_as_the_alert_needs(queue: EmbeddingQueue) -> None:
    await queue.put()
    await queue.connection.execute(
        """
        with made as (
            insert into penstock.tasks (entry, owner, input)
            select $1, 'ann', '{}' from generate_series(1, 20000) returning id
        )
        insert into penstock.queue (task_id, lane, stage, run_at)
        select id, $2, $1, now() - interval '1 hour' from made
        """,
        queue.world.stages[0],
        queue.world.lane,
    )
    await queue.connection.execute("analyze penstock.queue")
    plan = await plan_of(queue.connection, ALERTS.signs, PIPELINE, 10.0, 60.0, 51)
    read = [one["Actual Rows"] * one["Actual Loops"] for one in nodes(plan) if one.get("Relation Name") == "queue"]
    assert sum(read) <= 51 + 2 * await queue.connection.fetchval("select count(*) from penstock.lanes")
    await alerts.watch(queue.app)
    told = {one.kind.value: one for one in await alerts.opened(queue.connection)}
    assert told["backed-up"].sentence.startswith("More than 50 embeddings wait longer than 10 s, the oldest since ")
    oldest = await queue.connection.fetchval("select min(run_at) from penstock.queue")
    assert told["backed-up"].details["oldest_at"] == oldest.isoformat()


async def test_the_limit_itself_is_no_alert_and_one_more_is(queue: EmbeddingQueue) -> None:
    for _ in range(50):
        await queue.put()
    late = "update penstock.queue set run_at = now() - interval '20 seconds'"
    await queue.connection.execute(late)
    assert await alerts.watch(queue.app) == []
    await queue.put(owner="bob")  # in a lane of its own
    await queue.connection.execute(late)
    assert [one.kind.value for one in await alerts.watch(queue.app)] == ["backed-up"]


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as found:
        yield found


async def test_what_the_schedules_of_every_minute_came_to_is_kept_for_an_hour(world: World) -> None:
    looks = [await world.app.enqueue(name, {}) for name in (WATCH, KEEP_INDEXES) for _ in range(3)]
    saved = await world.save("Pumps", "They move water.")
    await drain(world.app)
    assert {await one.state() for one in looks} == {State.DONE}
    assert await upkeep.clear_looks(world.app) == 0
    await world.fetch("update penstock.outcomes set finished_at = finished_at - interval '2 hours'")
    await world.fetch("update penstock.tasks set created_at = created_at - interval '2 hours'")
    fresh = await world.app.enqueue(WATCH, {})
    await drain(world.app)
    cleaning = await world.app.enqueue("articles.cleanup", {})
    await drain(world.app)
    assert (await cleaning.result())["looks"] == len(looks)
    left = [row["task_id"] for row in await world.fetch("select task_id from penstock.outcomes order by task_id")]
    assert left == [saved.tasks[0], fresh.id, cleaning.id]
