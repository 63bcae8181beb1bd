"""Re-indexing: exactly the articles that are meant, once each, as one job."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock import worker
from penstock.errors import IllegalMove, NotKnown, UsageError
from penstock.extensions.articles import building, reindexing
from penstock.extensions.articles.errors import TextRefused
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.reindexing import Plan, ReindexRunning, ReindexStarting
from penstock.terminal.errors import REFUSED
from tests.cli.seeing.command_line import CommandLine
from tests.extensions.article_world import OWNER, World, article_world


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as found:
        yield found


async def queued(world: World, job_id: int | None) -> list[dict[str, Any]]:
    rows = await world.fetch("select id from penstock.tasks where job_id = $1 order by id", job_id)
    return [(await world.app.task_by_id(row["id"]).details())["input"] for row in rows]


async def articles_of(world: World, job_id: int | None) -> set[int]:
    return {one["article"] for one in await queued(world, job_id)}


async def fresh(world: World) -> int:
    """Indexed, and unchanged since."""
    saved = await world.save("Fresh", "This one is up to date.")
    await world.drain()
    return saved.article.id


async def stale(world: World) -> int:
    saved = await world.save("Stale", "The first text.")
    await world.drain()
    await world.edit(saved.article.slug, content="The second text.", skip_embedding=True)
    return saved.article.id


async def missing(world: World) -> int:
    return (await world.save("Missing", "Nobody embedded this.", skip_embedding=True)).article.id


async def failed(world: World) -> int:
    saved = await world.save("Failed", "unembeddable")
    world.switch.error, world.switch.marker = TextRefused("no"), "unembeddable"
    await world.drain()
    world.switch.error = world.switch.marker = None
    return saved.article.id


async def test_each_scope_takes_exactly_the_articles_it_names(world: World) -> None:
    # The stale one first: draining later ones must find nothing left of it.
    of = {"stale": await stale(world), "fresh": await fresh(world), "failed": await failed(world)}
    of["missing"] = await missing(world)
    expected = {
        "all": set(of.values()),
        "missing": {of["missing"], of["failed"]},
        "stale": {of["stale"]},
        "outdated": {of["missing"], of["failed"], of["stale"]},
        "failed": {of["failed"]},
    }
    for scope in reindexing.SCOPES:
        async with world.app.connection() as connection:
            planned = await reindexing.plan(connection, Plan(scope=scope))
        job_id = await reindexing.start(world.search, Plan(scope=scope), by=OWNER)
        assert await articles_of(world, job_id) == expected[scope], scope
        assert planned.articles == len(expected[scope]), scope


async def test_a_task_of_a_re_index_asks_for_whatever_is_current(world: World) -> None:
    article = await missing(world)
    job_id = await reindexing.start(world.search, Plan(scope="missing", force=True), by=OWNER)
    [order] = await queued(world, job_id)
    assert order == {
        "article": article,
        "revision": None,
        "generation": 1,
        "operation": "reindex",
        "force": True,
    }
    row = await world.fetch(
        "select l.priority, j.owner, j.name from penstock.lanes l "
        "join penstock.jobs j on j.id = l.job_id where j.id = $1",
        job_id,
    )
    assert [tuple(one) for one in row] == [(10, OWNER, "Re-index missing into first")]
    assert [event["count"] for event in world.heard("articles.reindexed")] == [1]


async def test_filters_narrow_every_scope(world: World) -> None:
    mine = await missing(world)
    theirs = (await world.save("Theirs", "x", owner="eve", skip_embedding=True)).article.id
    old = (await world.save("Old", "y", skip_embedding=True)).article.id
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    await world.fetch("update article_search.articles set updated_at = $1 where id = $2", long_ago, old)
    today = datetime.now(UTC) - timedelta(hours=1)
    cases: list[tuple[Plan, set[int]]] = [
        (Plan(author="eve"), {theirs}),
        (Plan(scope="missing", since=today), {mine, theirs}),
        (Plan(scope="outdated", until=today), {old}),
        (Plan(author=OWNER, since=long_ago, until=long_ago + timedelta(seconds=1)), {old}),
    ]
    for wish, expected in cases:
        assert await articles_of(world, await reindexing.start(world.search, wish, by=OWNER)) == expected, wish


async def test_a_missing_article_is_indexed_by_a_re_index(world: World) -> None:
    article = await missing(world)
    job_id = await reindexing.start(world.search, Plan(scope="missing"), by=OWNER)
    await world.drain()
    assert await world.indexed_revision(article) == 1
    assert job_id is not None and (await world.app.job_by_id(job_id).counts()).done == 1
    assert await reindexing.start(world.search, Plan(scope="outdated"), by=OWNER) is None


async def test_what_did_not_change_is_embedded_again_only_by_force(world: World) -> None:
    await fresh(world)
    calls = world.switch.calls
    await reindexing.start(world.search, Plan(), by=OWNER)
    await world.drain()
    assert world.switch.calls == calls
    await reindexing.start(world.search, Plan(force=True), by=OWNER)
    await world.drain()
    assert world.switch.calls == calls + 1


async def test_articles_of_many_pages_are_queued_once_each_in_one_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {(await world.save(f"Article {number}", "z", skip_embedding=True)).article.id for number in range(10)}
    monkeypatch.setattr(reindexing, "PAGE_IDS", 3)
    job_id = await reindexing.start(world.search, Plan(scope="missing"), by=OWNER)
    orders = await queued(world, job_id)
    assert len(orders) == 10
    assert {order["article"] for order in orders} == ids
    assert await world.value("select count(*) from penstock.jobs") == 1


async def test_nothing_to_do_makes_no_job(world: World) -> None:
    await fresh(world)
    assert await reindexing.start(world.search, Plan(scope="missing"), by=OWNER) is None
    assert await world.value("select count(*) from penstock.jobs") == 0


async def test_a_re_index_that_fails_half_way_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        await world.save(f"Article {number}", "z", skip_embedding=True)
    monkeypatch.setattr(reindexing, "PAGE_IDS", 2)

    async def breaks(*_: Any, **__: Any) -> int:
        raise RuntimeError("the second page")

    monkeypatch.setattr(world.app, "store_rows", breaks)
    with pytest.raises(RuntimeError, match="second page"):
        await reindexing.start(world.search, Plan(scope="missing"), by=OWNER)
    assert await world.value("select count(*) from penstock.jobs") == 0
    assert await world.value("select count(*) from penstock.queue") == 0


async def test_the_same_re_index_is_refused_while_one_runs_and_named(world: World) -> None:
    await missing(world)
    job_id = await reindexing.start(world.search, Plan(scope="missing"), by=OWNER)
    assert job_id is not None
    with pytest.raises(ReindexRunning, match=f"Job {job_id} .*`penstock jobs show {job_id}`") as refused:
        await reindexing.start(world.search, Plan(scope="missing"), by="eve")
    assert refused.value.job_id == job_id
    assert await world.value("select count(*) from penstock.tasks") == 1
    await world.app.job_by_id(job_id).pause()
    with pytest.raises(ReindexRunning, match=f"paused.*`penstock jobs resume {job_id}`"):
        await reindexing.start(world.search, Plan(scope="missing"), by=OWNER)
    # Others are others.
    assert await reindexing.start(world.search, Plan(scope="missing", force=True), by=OWNER) is not None
    assert await reindexing.start(world.search, Plan(scope="missing", author=OWNER), by=OWNER) is not None


async def test_the_same_re_index_is_taken_again_after_the_first_has_ended(world: World) -> None:
    await fresh(world)
    first = await reindexing.start(world.search, Plan(), by=OWNER)
    await world.drain()
    second = await reindexing.start(world.search, Plan(), by=OWNER)
    assert None not in (first, second)
    assert first != second
    assert second is not None
    await world.app.job_by_id(second).cancel()
    assert await reindexing.start(world.search, Plan(), by=OWNER) is not None


async def test_of_many_equal_re_indexes_at_one_time_one_is_queued(world: World) -> None:
    await missing(world)
    starts = [reindexing.start(world.search, Plan(scope="missing"), by=OWNER) for _ in range(8)]
    answers = await asyncio.gather(*starts, return_exceptions=True)
    assert sum(isinstance(one, int) for one in answers) == 1
    assert {type(one) for one in answers} <= {int, ReindexRunning, ReindexStarting}
    assert await world.value("select count(*) from penstock.tasks") == 1


async def test_a_dry_run_counts_and_queues_nothing(world: World) -> None:
    text = "A sentence of about fifty characters stands here. " * 80
    for number in range(4):
        await world.save(f"Long {number}", text, skip_embedding=True)
    async with world.app.connection() as connection:
        planned = await reindexing.plan(connection, Plan(scope="missing"))
    assert (planned.articles, planned.generation, planned.seconds_estimated) == (4, "first", None)
    await reindexing.start(world.search, Plan(scope="missing"), by=OWNER)
    await world.drain()
    made = await world.value("select count(*) from article_search.vectors_1")
    assert 0.7 * made <= planned.chunks_estimated <= 1.4 * made
    assert await world.value("select count(*) from penstock.queue") == 0


async def test_the_time_is_estimated_from_how_fast_the_last_ones_came(world: World) -> None:
    await missing(world)
    # Ten chunks every half second, twice with a pause of an hour between.
    await world.fetch(
        "insert into article_search.indexed (article_id, generation, revision, digest, chunks, embedded_at) "
        "select 1000 + n, 1, 1, '', 10, now() - make_interval(secs => n * 0.5 + case when n > 20 then 3600 else 0 end) "
        "from generate_series(1, 40) n"
    )
    async with world.app.connection() as connection:
        planned = await reindexing.plan(connection, Plan(scope="missing"))
    assert planned.chunks_per_second == pytest.approx(20.0)
    assert planned.seconds_estimated == pytest.approx(planned.chunks_estimated / 20.0)


async def test_wishes_that_make_no_sense_are_refused_with_a_sentence(world: World) -> None:
    with pytest.raises(UsageError, match=r"scope 'some' is not known\. Use one of all, missing"):
        Plan(scope="some")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no time zone"):
        Plan(since=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(UsageError, match="is not before until"):
        Plan(since=datetime(2026, 1, 2, tzinfo=UTC), until=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(NotKnown, match="no generation '77'"):
        await reindexing.start(world.search, Plan(generation=77), by=OWNER)
    made = await building.build(world.search, name="other", embedder="builtin", by=OWNER)
    await building.drop(world.search, made.id, by=OWNER)
    with pytest.raises(IllegalMove, match="dropped"):
        await reindexing.start(world.search, Plan(generation=made.id), by=OWNER)


async def test_the_command_line_plans_starts_waits_and_names_a_running_job(database_url: str) -> None:
    penstock = CommandLine(database_url)
    async with article_world(database_url) as world:
        for number in range(3):
            await world.save(f"Article {number}", "Some words.", skip_embedding=True)
        planned = await penstock.json("articles", "reindex", "--dry-run")
        assert (planned["articles"], planned["chunks_estimated"]) == (3, 3)
        started = await penstock.json("articles", "reindex")
        assert started["articles"] == 3
        again = await penstock("articles", "reindex", code=REFUSED)
        assert f"Job {started['job_id']} re-indexes the same articles" in again.stderr
        async with worker(world.app, only=[PIPELINE]):
            waited = await penstock("articles", "reindex", "--force", "--wait", "-o", "json")
            ended = json.loads(waited.stdout)
            assert (ended["articles"], ended["done"], ended["failed"]) == (3, 3, 0)
            assert f"penstock jobs pause {ended['job_id']}" in waited.stderr
        done = await penstock("articles", "reindex", "--scope", "missing")
        assert done.stdout.startswith("Nothing to do: no article is missing")


async def test_a_wait_ends_with_one_when_an_article_could_not_be_embedded(database_url: str) -> None:
    penstock = CommandLine(database_url)
    async with article_world(database_url) as world:
        await failed(world)
        world.switch.error, world.switch.marker = TextRefused("no"), "unembeddable"
        async with worker(world.app, only=[PIPELINE]):
            ended = await penstock.json("articles", "reindex", "--scope", "failed", "--wait", code=1)
    assert (ended["articles"], ended["failed"]) == (1, 1)
