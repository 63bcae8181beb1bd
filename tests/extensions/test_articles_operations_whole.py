"""Operations of article search with real embeddings: figures, tasks, retries and schedules of the whole application."""

from collections.abc import AsyncIterator

import pytest

from penstock.extensions.articles import embedding_tasks, statistics, upkeep
from penstock.extensions.articles.errors import EmbedderMisconfigured
from penstock.testing import drain
from tests.extensions.article_world import OWNER, World, article_world


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as found:
        yield found


async def one(world: World, task_id: int) -> embedding_tasks.EmbeddingTask:
    async with world.app.connection() as connection:
        found = await embedding_tasks.one(connection, task_id)
    assert found is not None
    return found


async def test_an_embedding_is_seen_from_its_save_to_its_end(world: World) -> None:
    saved = await world.save("Pumps", "They move water.", priority="high")
    before = await one(world, saved.tasks[0])
    assert (before.status, before.slug, before.priority, before.owner) == ("pending", "pumps", "high", OWNER)
    await world.drain()
    after = await one(world, saved.tasks[0])
    assert (after.status, after.skipped, after.attempts, after.error) == ("completed", False, 1, None)
    assert after.started_at is not None and after.ended_at is not None
    assert before.created_at <= after.started_at <= after.ended_at
    assert after.result is not None
    found = await statistics.statistics(world.app)
    assert (found.enabled, found.queue.completed, found.queue.total, found.freshness.measured) == (True, 1, 1, 1)
    assert found.worker.last_processed_at is not None and found.worker.succeeded == 1


async def test_a_failure_that_a_newer_version_has_overtaken_ends_skipped_when_it_is_retried(world: World) -> None:
    world.switch.error = EmbedderMisconfigured("Set the key.")
    first = await world.save("Pumps", "They move water.")
    await world.drain()
    failed = await one(world, first.tasks[0])
    assert (failed.status, failed.category, failed.attempts) == ("failed", "configuration", 1)
    world.switch.error = None
    second = await world.edit("pumps", content="They lift water.")
    await world.drain()
    assert await upkeep.retry_failed(world.app, category="configuration", by=OWNER) == 1
    await world.drain()
    again = await one(world, first.tasks[0])
    assert (again.status, again.skipped, again.error, again.category) == ("completed", True, None, None)
    assert again.result is not None and again.result["reason"]
    assert await world.indexed_revision(second.article.id) == 2
    assert (await statistics.statistics(world.app)).queue.completed == 2


async def test_an_article_whose_task_was_cleared_is_still_indexed(world: World) -> None:
    saved = await world.save("Pumps", "They move water.")
    await world.drain()
    assert await upkeep.clear_completed(world.app, 0, by=OWNER) == 1
    async with world.app.connection() as connection:
        assert await embedding_tasks.one(connection, saved.tasks[0]) is None
    assert await world.indexed_revision(saved.article.id) == 1
    assert (await statistics.statistics(world.app)).queue.total == 0


async def test_what_a_deleted_article_leaves_is_a_mark_that_goes_after_a_day(world: World) -> None:
    saved = await world.save("Pumps", "They move water.")
    await world.drain()
    await world.value("update article_search.indexed set embedded_at = now() - interval '3 days'")
    await world.delete("pumps")
    await world.drain()
    assert await world.vectors(saved.article.id) == []
    assert await upkeep.remove_leftovers(world.app) == 0
    await world.value("update article_search.indexed set embedded_at = now() - interval '25 hours'")
    assert await upkeep.remove_leftovers(world.app) == 1


async def test_the_switch_that_turns_the_queue_off_is_shown(database_url: str) -> None:
    async with article_world(database_url, articles_enabled=False) as world:
        assert not (await statistics.statistics(world.app)).enabled


async def test_the_schedules_of_upkeep_are_declared_and_their_tasks_run(database_url: str) -> None:
    async with article_world(database_url, articles_cleanup_hours=6) as world:
        rows = await world.fetch("select name, cron from penstock.schedules where name like 'articles.%' order by name")
        crons = {row["name"]: row["cron"] for row in rows}
        assert crons == {"articles.ann": "* * * * *", "articles.cleanup": "23 */6 * * *", "articles.watch": "* * * * *"}
        await world.save("Pumps", "They move water.")
        await world.drain()
        await world.value("update penstock.outcomes set finished_at = now() - interval '31 days'")
        await world.value("update penstock.tasks set created_at = now() - interval '31 days'")
        for name in crons:
            await world.app.enqueue(name)
        done = await drain(world.app, only=list(crons))
        assert (done.done, done.failed) == (3, 0)
        assert (await statistics.statistics(world.app)).queue.total == 0
