"""Generations: built beside the one in use, made ready, switched, rolled back and dropped."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from penstock import State
from penstock.core.job_counts import JobCounts
from penstock.errors import IllegalMove, InvalidSetting, NotKnown, UsageError
from penstock.extensions.articles import ann, building, filling, generations, reindexing, upkeep
from penstock.extensions.articles.errors import EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.names import BUILD, PIPELINE
from penstock.extensions.articles.reindexing import Plan
from penstock.testing import Drained, drain
from tests.extensions.article_world import OWNER, World, article_world

TEXT = "\n\n".join(f"# Part {number}\n\n" + f"The pump of house {number} moves water. " * 10 for number in range(3))


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as found:
        yield found


async def build(world: World, name: str = "finer", **more: Any) -> Generation:
    given = {"embedder": "builtin", "chunk_characters": 300, "overlap": 50, **more}
    return await building.build(world.search, name=name, by=OWNER, **given)


async def finish(world: World, **more: Any) -> Drained:
    return await drain(world.app, advance=True, only=[PIPELINE, BUILD], **more)


async def get(world: World, generation: Generation | int) -> Generation:
    asked = generation if isinstance(generation, int) else generation.id
    async with world.app.connection() as connection:
        found = await generations.get(connection, asked)
    assert found is not None
    return found


async def ready(world: World, name: str = "finer", **more: Any) -> Generation:
    made = await build(world, name, **more)
    await finish(world)
    return await get(world, made)


async def index_valid(world: World, generation: Generation) -> bool | None:
    query = "select indisvalid from pg_index where indexrelid = to_regclass($1)"
    valid: bool | None = await world.value(query, f"article_search.vectors_{generation.id}_near")
    return valid


async def has_table(world: World, generation: Generation) -> bool:
    name = f"article_search.vectors_{generation.id}"
    return bool(await world.value("select to_regclass($1) is not null", name))


# ---------------------------------------------------------------- building


async def test_a_generation_is_filled_and_made_ready_beside_the_active_one(world: World) -> None:
    saved = [await world.save(f"Article {number}", TEXT) for number in range(3)]
    await world.drain()
    made = await build(world)
    assert (made.state, made.model, made.dimensions) == (GenerationState.BUILDING, "l2-supercat-256/1", 256)
    assert made.chunker == "structure/1 300+50"
    assert made.job_id is not None
    await finish(world)
    found = await get(world, made)
    assert (found.state, found.note) == (GenerationState.READY, None)
    assert found.ready_at is not None
    for one in saved:
        assert await world.indexed_revision(one.article.id, made.id) == 1
        assert len(await world.vectors(one.article.id, made.id)) > len(await world.vectors(one.article.id))
    async with world.app.connection() as connection:
        assert (await generations.active(connection)).id == 1
    told = [event["move"] for event in world.heard("articles.generation")]
    assert told == ["build-generation", "ready-generation"]


async def test_a_generation_without_articles_is_ready_at_once(world: World) -> None:
    made = await ready(world)
    assert (made.state, made.job_id) == (GenerationState.READY, None)


async def test_articles_saved_while_it_is_built_are_in_it(world: World) -> None:
    await world.save("Before", TEXT)
    made = await build(world)
    during = await world.save("During", TEXT)
    assert len(during.tasks) == 2
    await finish(world)
    assert await world.indexed_revision(during.article.id, made.id) == 1
    assert (await get(world, made)).state is GenerationState.READY


async def test_a_save_that_did_not_see_the_new_generation_is_in_it_all_the_same(
    world: World, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The save has read the generations, the build commits, then the save commits."""
    old = await world.save("Old", TEXT)
    await world.drain()
    late = await asyncpg.connect(database_url)
    try:
        saving = late.transaction()
        await saving.start()
        new = await late.fetchval(
            "insert into article_search.articles (slug, title, owner, words)"
            " values ('late', 'Late', $1, '') returning id",
            OWNER,
        )
        await late.execute(
            "insert into article_search.revisions (article_id, revision, title, content, author, digest)"
            " values ($1, 1, 'Late', 'Very late.', $2, 'x')",
            new,
            OWNER,
        )
        made = await build(world)
        looks, look = asyncio.Semaphore(0), filling.all_ended_before

        async def noted(connection: Any, number: str) -> bool:
            looks.release()
            return await look(connection, number)

        monkeypatch.setattr(filling, "all_ended_before", noted)
        building_it = asyncio.create_task(finish(world))
        await until(lambda: indexed(world, old.article.id, made.id))
        async with asyncio.timeout(60):
            for _ in range(3):
                await looks.acquire()
        assert not building_it.done(), "it has to wait for the save"
        await saving.commit()
        await asyncio.wait_for(building_it, 60)
    finally:
        await late.close()
    assert await world.indexed_revision(new, made.id) == 1
    assert (await get(world, made)).state is GenerationState.READY


async def indexed(world: World, article_id: int, generation: int) -> bool:
    return await world.indexed_revision(article_id, generation) is not None


async def until(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < end, "it did not come about in time"
        await asyncio.sleep(0.02)


async def test_articles_that_cannot_be_embedded_do_not_hold_it_up_and_are_told(world: World) -> None:
    await world.save("Good", TEXT)
    bad = await world.save("Bad", "unembeddable")
    world.switch.error, world.switch.marker = TextRefused("no"), "unembeddable"
    made = await ready(world)
    assert made.state is GenerationState.READY
    assert made.note is not None
    assert made.note.startswith("1 article is not in it")
    assert f"--generation {made.id} --scope failed" in made.note
    world.switch.error = None
    job_id = await reindexing.start(world.search, Plan(scope="failed", generation=made.id), by=OWNER)
    assert job_id is not None
    await finish(world)
    assert await world.indexed_revision(bad.article.id, made.id) == 1


async def test_a_generation_of_which_nothing_could_be_embedded_is_not_ready(world: World) -> None:
    await world.save("Article", TEXT)
    world.switch.error = EmbedderMisconfigured("The key is missing.")
    made = await build(world)
    with pytest.raises(UsageError, match="snooze"):
        await finish(world, most_runs=30)
    found = await get(world, made)
    assert found.state is GenerationState.BUILDING
    assert found.note is not None
    assert "The only article could not be embedded (configuration: The key is missing.)" in found.note
    world.switch.error = None
    assert await reindexing.start(world.search, Plan(scope="outdated", generation=made.id), by=OWNER) is not None
    await finish(world)
    assert (await get(world, made)).state is GenerationState.READY


async def test_one_mistake_fails_every_article_once_and_retry_failed_makes_it_ready(world: World) -> None:
    articles = 5
    for number in range(articles):
        await world.save(f"Article {number}", TEXT)
    await world.drain()
    world.switch.error = EmbedderMisconfigured("The key is missing: set KEY")
    made = await build(world)
    await drain(world.app, only=[PIPELINE])
    await hasten(world)
    await drain(world.app, only=[PIPELINE, BUILD])
    found = await get(world, made)
    # The note is there with the first round, and nothing was queued a second time.
    assert found.note == (
        "None of 5 articles could be embedded (configuration: The key is missing: set KEY.) "
        "Change what the error names, then `penstock articles retry-failed --category configuration`."
    )
    assert (found.state, found.job_id) == (GenerationState.BUILDING, made.job_id)
    await looked_again(world, made)
    assert await world.value("select count(*) from penstock.outcomes where status = 3") == articles
    assert await longest_pause_seconds(world) <= 5
    world.switch.error = None
    assert await upkeep.retry_failed(world.app, category="configuration", by=OWNER) == articles
    await drain(world.app, only=[PIPELINE])
    await looked_again(world, made)
    found = await get(world, made)
    assert (found.state, found.note) == (GenerationState.READY, None)


async def hasten(world: World) -> None:
    await world.fetch("update penstock.queue set run_at = now()")


async def looked_again(world: World, generation: Generation) -> None:
    """One more look of the task that makes it ready."""
    await hasten(world)
    ran = await drain(world.app, only=[BUILD])
    assert ran.runs == 1, generation


async def longest_pause_seconds(world: World) -> float:
    return float(await world.value("select extract(epoch from max(run_at) - now()) from penstock.queue"))


async def test_an_article_that_was_saved_and_failed_while_it_is_built_is_told_and_not_queued_again(
    world: World,
) -> None:
    made = await build(world)
    world.switch.error, world.switch.marker = TextRefused("Too odd."), "unembeddable"
    await world.save("Good", TEXT)
    await world.save("Bad", "unembeddable")
    await world.drain()
    await finish(world)
    found = await get(world, made)
    assert (found.state, found.job_id) == (GenerationState.READY, None)
    assert "1 article is not in it, because their embedding failed (the last: data: Too odd.)" in str(found.note)
    assert await world.value("select count(*) from penstock.outcomes where status = 3") == 2, "one per generation"


async def test_a_failed_article_that_was_edited_since_is_looked_at_again(world: World) -> None:
    await world.save("Good", TEXT)
    world.switch.error, world.switch.marker = TextRefused("Too odd."), "unembeddable"
    bad = await world.save("Bad", "unembeddable")
    made = await build(world)
    await world.drain()
    # As if the save had not seen the new generation.
    await world.edit("bad", content="Better.", skip_embedding=True)
    await finish(world)
    assert await world.indexed_revision(bad.article.id, made.id) == 2
    assert (await get(world, made)).note is None


async def test_a_paused_or_cancelled_job_holds_the_build_and_says_how_it_goes_on(world: World) -> None:
    await world.save("Article", TEXT)
    made = await build(world)
    assert made.job_id is not None
    job = world.app.job_by_id(made.job_id)
    await job.pause()
    await drain(world.app, only=[BUILD])
    assert "`penstock jobs resume" in str((await get(world, made)).note)
    await job.resume()
    await job.cancel()
    await world.fetch("update penstock.queue set run_at = now()")
    await drain(world.app, only=[BUILD])
    found = await get(world, made)
    assert f"Job {job.id} was cancelled" in str(found.note)
    assert found.state is GenerationState.BUILDING
    again = await reindexing.start(world.search, Plan(scope="missing", generation=made.id), by=OWNER)
    assert (await get(world, made)).job_id == again
    await finish(world)
    assert (await get(world, made)).state is GenerationState.READY


async def test_builds_that_cannot_work_are_refused_before_anything_is_stored(world: World) -> None:
    await build(world, "taken")
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"name": "taken"}, UsageError, "called 'taken' already"),
        ({"name": "  "}, UsageError, "will not do"),
        ({"name": "x", "embedder": "nobody"}, UsageError, "No generation was made.*nobody"),
        ({"name": "x", "chunk_characters": 5}, InvalidSetting, "chunk size"),
        ({"name": "x", "overlap": 299}, InvalidSetting, "overlap"),
    ]
    for given, kind, sentence in cases:
        with pytest.raises(kind, match=sentence):
            await build(world, **given)
    assert await world.value("select count(*) from article_search.generations") == 2
    assert await world.value("select count(*) from penstock.tasks") == 1


def test_a_long_build_is_looked_at_less_often() -> None:
    def counts(total: int, pending: int) -> JobCounts:
        done = total - pending
        return JobCounts(
            total=total, pending=pending, processing=0, done=done, error=0, not_found=0, skipped=0, cancelled=0
        )

    assert filling.look_seconds(counts(1000, 1000), 0.0) == 1.0
    assert filling.look_seconds(counts(1000, 900), 10.0) == pytest.approx(9.0)
    assert filling.look_seconds(counts(1_000_000, 999_000), 10.0) == 30.0
    assert filling.look_seconds(counts(60, 50), 86_400.0) == pytest.approx(5.0), "it stood still for a day"


# ---------------------------------------------------------------- the index for nearest neighbours


async def test_a_large_generation_gets_its_index(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann, "WORTH_CHUNKS", 5)
    for number in range(3):
        await world.save(f"Article {number}", TEXT)
    made = await ready(world)
    assert await index_valid(world, made) is True
    small = await ready(world, "small", chunk_characters=5000)
    assert await index_valid(world, small) is None


async def test_the_connection_of_a_build_goes_back_as_it_came(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann, "WORTH_CHUNKS", 1)
    await world.save("Article", TEXT)
    before = await world.value("show maintenance_work_mem"), await world.value("show max_parallel_maintenance_workers")
    await ready(world)
    after = await world.value("show maintenance_work_mem"), await world.value("show max_parallel_maintenance_workers")
    assert after == before


async def test_an_index_that_a_dead_build_left_is_built_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann, "WORTH_CHUNKS", 1)
    await world.save("Article", TEXT)
    made = await ready(world)
    await world.fetch(
        "update pg_index set indisvalid = false where indexrelid = to_regclass($1)",
        f"article_search.vectors_{made.id}_near",
    )
    assert await index_valid(world, made) is False
    assert await ann.build_index(world.app, made) is ann.Outcome.BUILT
    assert await index_valid(world, made) is True
    assert await ann.build_index(world.app, made) is ann.Outcome.THERE


async def test_an_index_that_is_being_built_is_left_alone(
    world: World, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ann, "WORTH_CHUNKS", 1)
    await world.save("Article", TEXT)
    made = await ready(world)
    await world.fetch(f"drop index article_search.vectors_{made.id}_near")
    holder = await asyncpg.connect(database_url)
    try:
        await holder.execute(f"begin; lock table article_search.vectors_{made.id} in row exclusive mode")
        first = asyncio.create_task(ann.build_index(world.app, made))
        await until(lambda: _is(world, made, False))
        assert await ann.build_index(world.app, made) is ann.Outcome.UNDER_WAY
        await holder.execute("commit")
        assert await asyncio.wait_for(first, 60) is ann.Outcome.BUILT
    finally:
        await holder.close()


async def _is(world: World, generation: Generation, valid: bool) -> bool:
    return await index_valid(world, generation) is valid


async def test_a_growing_generation_gets_its_index_by_a_task_and_not_during_a_bulk_load(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.save("Article", TEXT)
    await world.drain()
    first = await get(world, 1)
    assert not await ann.ensure_index(world.app, first), "it is too small"
    monkeypatch.setattr(ann, "WORTH_CHUNKS", 1)
    monkeypatch.setattr(ann, "_BULK_TASKS", 1)
    job_id = await reindexing.start(world.search, Plan(force=True), by=OWNER)
    assert not await ann.ensure_index(world.app, first), "a job fills it"
    await world.drain()
    assert job_id is not None
    assert await ann.ensure_index(world.app, first)
    assert await ann.ensure_index(world.app, first)
    assert await world.value("select count(*) from penstock.queue") == 1, "the second call is coalesced"
    await finish(world)
    assert await index_valid(world, first) is True
    assert not await ann.ensure_index(world.app, first)


def test_the_memory_of_a_build_grows_with_the_vectors_within_bounds() -> None:
    assert ann.memory_mb(0, 256) == 64
    assert 350 < ann.memory_mb(150_000, 256) < 450
    assert ann.memory_mb(100_000_000, 4000) == 2048


# ---------------------------------------------------------------- moves


async def test_a_switch_and_a_roll_back_move_what_is_active(world: World) -> None:
    await world.save("Article", TEXT)
    made = await ready(world)
    switched = await building.switch(world.search, made.id, by=OWNER)
    assert switched.state is GenerationState.ACTIVE
    assert (await get(world, 1)).state is GenerationState.STANDBY
    back = await building.roll_back(world.search, by=OWNER)
    assert (back.id, back.state) == (1, GenerationState.ACTIVE)
    assert (await get(world, made)).state is GenerationState.STANDBY
    # Both are kept up to date, so the way forward is open as well.
    saved = await world.save("Later", TEXT)
    assert len(saved.tasks) == 2
    assert (await building.switch(world.search, made.id, by=OWNER)).id == made.id


async def test_a_second_roll_back_goes_further_back_and_never_forward_again(world: World) -> None:
    second, third = await ready(world, "second"), await ready(world, "third")
    for one in (second, third):
        await building.switch(world.search, one.id, by=OWNER)
    assert [(await building.roll_back(world.search, by=OWNER)).id for _ in range(2)] == [second.id, 1]
    with pytest.raises(IllegalMove, match=r"roll back from generation 'first'.*none was active before.*switch"):
        await building.roll_back(world.search, by=OWNER)
    assert (await get(world, 1)).state is GenerationState.ACTIVE
    # A switch begins anew: what was active before it is what a roll-back takes.
    await building.switch(world.search, third.id, by=OWNER)
    assert (await building.roll_back(world.search, by=OWNER)).id == 1
    with pytest.raises(IllegalMove):
        await building.roll_back(world.search, by=OWNER)


async def test_a_roll_back_leaves_out_what_was_dropped(world: World) -> None:
    second, third = await ready(world, "second"), await ready(world, "third")
    for one in (second, third):
        await building.switch(world.search, one.id, by=OWNER)
    await building.drop(world.search, second.id, by=OWNER)
    assert (await building.roll_back(world.search, by=OWNER)).id == 1


async def test_the_name_of_a_dropped_generation_is_free_again(world: World) -> None:
    for _ in range(2):
        made = await ready(world, "again")
        async with world.app.connection() as connection:
            found = await generations.by_name(connection, "again")
        assert found is not None
        assert found.id == made.id
        with pytest.raises(UsageError, match="called 'again' already"):
            await build(world, "again")
        await building.drop(world.search, made.id, by=OWNER)
        async with world.app.connection() as connection:
            assert await generations.by_name(connection, "again") is None


async def test_a_roll_back_takes_the_one_that_was_active_last(world: World) -> None:
    second, third = await ready(world, "second"), await ready(world, "third")
    await building.switch(world.search, second.id, by=OWNER)
    await building.switch(world.search, third.id, by=OWNER)
    assert (await building.roll_back(world.search, by=OWNER)).id == second.id


async def test_moves_that_are_not_possible_change_nothing_and_say_why(world: World) -> None:
    await world.save("Article", TEXT)
    made = await build(world)
    with pytest.raises(IllegalMove, match="Cannot switch to generation 'finer': it is building"):
        await building.switch(world.search, made.id, by=OWNER)
    with pytest.raises(IllegalMove, match="roll back"):
        await building.roll_back(world.search, by=OWNER)
    with pytest.raises(IllegalMove, match=r"Cannot drop generation 'first': it is active.*switch to another"):
        await building.drop(world.search, 1, by=OWNER)
    with pytest.raises(NotKnown, match=r"no generation '99'\. Known: 1, 2"):
        await building.switch(world.search, 99, by=OWNER)
    await building.drop(world.search, made.id, by=OWNER)
    for move in (building.switch, building.drop):
        with pytest.raises(IllegalMove, match="it is dropped"):
            await move(world.search, made.id, by=OWNER)
    assert (await get(world, 1)).state is GenerationState.ACTIVE


async def test_of_many_switches_at_one_time_exactly_one_is_active_at_the_end(world: World) -> None:
    made = [await ready(world, f"number {number}") for number in range(3)]
    moves = [building.switch(world.search, one.id, by=OWNER) for one in made for _ in range(3)]
    answers = await asyncio.gather(*moves, return_exceptions=True)
    assert {type(one) for one in answers} <= {Generation, IllegalMove}
    assert await world.value("select count(*) from article_search.generations where state = 'active'") == 1


async def test_a_dropped_generation_ends_its_work_and_loses_its_table_later(world: World) -> None:
    first = await world.save("Article", TEXT)
    made = await build(world)
    extra = await world.save("While it is built", TEXT)
    await building.drop(world.search, made.id, by=OWNER)
    assert await has_table(world, made), "a search that began before may still read it"
    await drain(world.app, only=[PIPELINE, BUILD])
    assert await has_table(world, made)
    assert made.job_id is not None
    assert (await world.app.job_by_id(made.job_id).counts()).cancelled == 1
    of_dropped = [await world.app.task_by_id(task).state() for task in extra.tasks]
    assert of_dropped == [State.DONE, State.SKIPPED]
    await finish(world)
    assert not await has_table(world, made)
    assert await world.value("select count(*) from article_search.indexed where generation = $1", made.id) == 0
    assert await world.indexed_revision(first.article.id) == 1


async def test_removing_a_table_waits_for_its_readers_and_makes_nobody_wait(
    world: World, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "_LOCK_TRIES", 2)
    monkeypatch.setattr(filling, "_LOCK_PAUSE_SECONDS", 0.01)
    made = await ready(world)
    await building.drop(world.search, made.id, by=OWNER)
    await world.fetch("update penstock.queue set run_at = now()")
    reader = await asyncpg.connect(database_url)
    try:
        await reader.execute(f"begin; select from article_search.vectors_{made.id}")
        await drain(world.app, only=[BUILD])
        assert await has_table(world, made)
        await reader.execute("commit")
    finally:
        await reader.close()
    await finish(world)
    assert not await has_table(world, made)
