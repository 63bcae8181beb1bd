"""Guards of article search that only an unlucky moment needs: locks, marks and second looks. Each moment is made to
happen here, with two connections where it takes two."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any

import asyncpg
import numpy as np
import pytest

from penstock.extensions.articles import building, filling, generations, upkeep, writing
from penstock.extensions.articles.articles import NewArticle
from penstock.extensions.articles.chunking import parse
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.indexing import storing
from penstock.extensions.articles.indexing.storing import ArticleInWork
from penstock.extensions.articles.near.exact import Exact
from penstock.extensions.articles.near.filter import Filter
from penstock.storage.queries import load
from tests.extensions.article_world import OWNER, World, article_world

TEXT = "# Pumps\n\n" + "The pump of the house moves water. " * 60
_DEADLINE_SECONDS = 60


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as found:
        yield found


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Somebody else, with a transaction of their own."""
    opened = await asyncpg.connect(database_url)
    yield opened
    await opened.close()


@pytest.fixture
async def first(world: World) -> Generation:
    async with world.app.connection() as connection:
        return await generations.active(connection)


async def prepared(world: World, generation: Generation, article_id: int) -> ArticleInWork:
    """As a worker has it when it is about to store: the text as it is now, and a vector for each chunk."""
    async with world.app.connection() as connection:
        wanted = (await storing.wanted(connection, [article_id], generation.id))[article_id]
    chunks = parse(generation.chunker).cut(wanted.title, wanted.content)
    vectors = np.zeros((len(chunks), generation.dimensions), dtype=np.float32)
    vectors[:, 0] = 1.0
    return ArticleInWork(wanted=wanted, chunks=chunks, known=list(vectors), measured=True)


async def stored(world: World, generation: Generation, ready: ArticleInWork) -> set[int]:
    async with world.app.connection() as connection:
        return await storing.store(connection, generation, [ready])


async def waits_for(world: World, holder: asyncpg.Connection, task: "asyncio.Task[Any]") -> None:
    """Until somebody waits for a lock that the holder has; fails where the task ends without waiting."""
    query = "select count(*) from pg_stat_activity where $1 = any (pg_blocking_pids(pid))"
    end = time.monotonic() + _DEADLINE_SECONDS
    while not await world.value(query, holder.get_server_pid()):
        assert not task.done(), f"it did not wait, and ended with {task}"
        assert time.monotonic() < end, "nobody waits for the lock"
        await asyncio.sleep(0.01)


async def ended(task: "asyncio.Task[Any]") -> Any:
    return await asyncio.wait_for(task, _DEADLINE_SECONDS)


# ---------------------------------------------------------------- vectors and deletes


async def test_a_store_waits_for_a_delete_that_is_under_way_and_then_stores_nothing(
    world: World, other: asyncpg.Connection, first: Generation
) -> None:
    article = (await world.save("Pumps", TEXT)).article
    ready = await prepared(world, first, article.id)
    deleting = other.transaction()
    await deleting.start()
    await other.execute("delete from article_search.articles where id = $1", article.id)
    storing_it = asyncio.create_task(stored(world, first, ready))
    await waits_for(world, other, storing_it)
    await deleting.commit()
    assert await ended(storing_it) == set()
    assert await world.vectors(article.id) == []
    assert await world.value("select count(*) from article_search.indexed") == 0


async def test_a_store_that_began_before_a_delete_leaves_nothing_after_it(world: World, first: Generation) -> None:
    article = (await world.save("Pumps", TEXT)).article
    ready = await prepared(world, first, article.id)
    await world.delete("pumps")
    assert await stored(world, first, ready) == set()
    assert await world.vectors(article.id) == []


async def test_a_delete_waits_for_a_store_that_is_under_way_and_then_removes_what_it_stored(
    world: World, other: asyncpg.Connection, first: Generation
) -> None:
    article = (await world.save("Pumps", TEXT)).article
    ready = await prepared(world, first, article.id)
    outer = other.transaction()
    await outer.start()
    assert await storing.store(other, first, [ready]) == {article.id}
    deleting = asyncio.create_task(world.delete("pumps"))
    await waits_for(world, other, deleting)
    await outer.commit()
    await ended(deleting)
    assert len(await world.vectors(article.id)) == len(ready.chunks)
    await world.drain()
    assert await world.vectors(article.id) == []


async def test_an_edit_does_not_wait_for_a_store(world: World, other: asyncpg.Connection, first: Generation) -> None:
    article = (await world.save("Pumps", TEXT)).article
    ready = await prepared(world, first, article.id)
    async with other.transaction():
        await storing.store(other, first, [ready])
        assert (await asyncio.wait_for(world.edit("pumps", content="Short."), _DEADLINE_SECONDS)).article.revision == 2


async def test_two_stores_that_both_saw_nothing_leave_each_vector_once(world: World, first: Generation) -> None:
    article = (await world.save("Pumps", TEXT)).article
    both = [await prepared(world, first, article.id) for _ in range(2)]
    assert [one.wanted.indexed_revision for one in both] == [None, None]
    for ready in both:
        assert await stored(world, first, ready) == {article.id}
    rows = await world.vectors(article.id)
    assert [row["ordinal"] for row in rows] == list(range(len(both[0].chunks)))
    assert len(rows) > 1


async def test_an_older_text_does_not_come_back_over_a_newer_one(world: World, first: Generation) -> None:
    article = (await world.save("Pumps", TEXT)).article
    older = await prepared(world, first, article.id)
    await world.edit("pumps", content="Short.")
    newer = await prepared(world, first, article.id)
    assert await stored(world, first, newer) == {article.id}
    assert await stored(world, first, older) == set()
    assert {row["revision"] for row in await world.vectors(article.id)} == {2}


# ---------------------------------------------------------------- what is kept in memory


async def revisions_near(world: World, exact: Exact) -> dict[int, int]:
    vector = np.zeros(256, dtype=np.float32)
    vector[0] = 1.0
    async with world.app.connection() as connection:
        near = await exact.nearest(connection, vector, wanted=Filter(), limit=10)
    return {one.article_id: one.revision for one in near}


async def test_a_process_that_keeps_vectors_sees_that_an_article_was_embedded_again(
    world: World, first: Generation
) -> None:
    exact = Exact(first)
    article = (await world.save("Pumps", TEXT)).article
    await world.drain()
    assert await revisions_near(world, exact) == {article.id: 1}
    await world.edit("pumps", content="Valves let water pass.")
    await world.drain()
    assert await revisions_near(world, exact) == {article.id: 2}


async def test_a_process_that_keeps_vectors_forgets_those_of_a_deleted_article(world: World, first: Generation) -> None:
    exact = Exact(first)
    await world.save("Pumps", TEXT)
    kept = await world.save("Valves", "They let water pass.")
    await world.drain()
    await revisions_near(world, exact)
    assert len(exact._rows) > 1
    await world.delete("pumps")
    await world.drain()
    assert await revisions_near(world, exact) == {kept.article.id: 1}
    assert len(exact._rows) == 1, "what nobody can find any more takes no memory"


# ---------------------------------------------------------------- generations


async def test_a_generation_that_was_dropped_meanwhile_does_not_become_ready(world: World) -> None:
    await world.save("Pumps", TEXT)
    made = await building.build(world.search, name="finer", embedder="builtin", by=OWNER)
    await building.drop(world.search, made.id, by=OWNER)
    async with world.app.connection() as connection:
        assert await connection.fetchval(filling._sql.ready, made.id, None) is None
        found = await generations.get(connection, made.id)
    assert found is not None
    assert (found.state, found.ready_at) == (GenerationState.DROPPED, None)


# ---------------------------------------------------------------- clearing and imports


@pytest.mark.parametrize("change", ["status = 3", "finished_at = now()"])
async def test_what_changes_while_it_is_about_to_be_cleared_is_looked_at_again(
    world: World, other: asyncpg.Connection, change: str
) -> None:
    saved = await world.save("Pumps", TEXT)
    await world.drain()
    await world.fetch("update penstock.outcomes set finished_at = finished_at - interval '31 days'")
    await world.fetch("update penstock.tasks set created_at = created_at - interval '31 days'")
    changing = other.transaction()
    await changing.start()
    await other.execute(f"update penstock.outcomes set {change} where task_id = $1", saved.tasks[0])
    clearing = asyncio.create_task(upkeep.clear_completed(world.app, 30, by=OWNER))
    await waits_for(world, other, clearing)
    await changing.commit()
    assert await ended(clearing) == 0
    assert await world.value("select count(*) from penstock.tasks where id = $1", saved.tasks[0]) == 1


async def test_an_import_waits_for_an_edit_and_comes_after_it(world: World, other: asyncpg.Connection) -> None:
    def found(content: str) -> NewArticle:
        return NewArticle(title="Pumps", content=content, owner=OWNER, author=OWNER, source="pumps.md")

    async def imported(content: str) -> writing.ManySaved:
        async with world.app.connection() as connection:
            return await writing.save_many(world.search, connection, [found(content)], job_id=None)

    (article_id,) = (await imported("As first found.")).created
    editing = other.transaction()
    await editing.start()
    await other.execute("update article_search.articles set revision = 2 where id = $1", article_id)
    await other.execute(
        "insert into article_search.revisions (article_id, revision, title, content, author, digest)"
        " values ($1, 2, 'Pumps', 'As edited.', $2, 'edited')",
        article_id,
        OWNER,
    )
    importing = asyncio.create_task(imported("As found again."))
    await waits_for(world, other, importing)
    await editing.commit()
    assert (await ended(importing)).updated == (article_id,)
    rows = await world.fetch("select revision, content from article_search.revisions order by revision")
    assert [tuple(row) for row in rows] == [(1, "As first found."), (2, "As edited."), (3, "As found again.")]
    assert await world.value("select revision from article_search.articles") == 3


# ---------------------------------------------------------------- queries of one generation

# To remove what is not there is no error; a table of this name is never made, which a test of its own shows.
_SILENT = {("ann", "drop"), ("generation_moves", "drop_vectors"), ("generations", "create_vectors")}


def of_a_generation() -> list[tuple[str, str]]:
    folder = files("penstock.extensions.articles").joinpath("sql")
    tables = sorted(one.name.removesuffix(".sql") for one in folder.iterdir() if one.name.endswith(".sql"))
    queries = {(table, name): getattr(_queries(table), name) for table in tables for name in _queries(table).names()}
    return [key for key, text in queries.items() if "vectors_0" in text or "vector(0)" in text]


def _queries(table: str) -> Any:
    return load(table, "penstock.extensions.articles")


def test_every_file_of_queries_is_looked_through() -> None:
    found = of_a_generation()
    assert {table for table, _ in found} >= {"ann", "generation_moves", "generations", "nearest", "upkeep", "vectors"}
    assert set(found) >= _SILENT


def test_no_query_names_the_table_of_one_generation() -> None:
    folder = files("penstock.extensions.articles").joinpath("sql")
    for one in folder.iterdir():
        assert re.findall(r"vectors_[1-9]|(?:vector|halfvec)\([1-9]", one.read_text("utf-8")) == [], one.name


@pytest.mark.parametrize(("table", "name"), [key for key in of_a_generation() if key not in _SILENT])
async def test_a_query_that_was_not_made_one_of_a_generation_is_refused(
    connection: asyncpg.Connection, table: str, name: str
) -> None:
    await connection.execute("create extension if not exists vector")
    query = getattr(_queries(table), name)
    refusals = (asyncpg.UndefinedTableError, asyncpg.UndefinedObjectError, asyncpg.InvalidParameterValueError)
    with pytest.raises(refusals, match=r"vectors_0|dimensions for type vector must be at least 1"):
        await (await connection.prepare(query)).fetch()


async def test_no_table_is_made_for_a_generation_that_cannot_be(world: World) -> None:
    await building.build(world.search, name="finer", embedder="builtin", by=OWNER)
    assert await world.value("select to_regclass('article_search.vectors_0')::text") is None
    assert await world.value("select to_regclass('article_search.vectors_2')::text") == "article_search.vectors_2"
