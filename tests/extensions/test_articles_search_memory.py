"""Vectors that a process keeps in memory beside the server: they answer the same, and never make a search wait."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import asyncpg
import numpy as np
import pytest
import structlog
from structlog.testing import capture_logs

from penstock.extensions.articles import generations
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.near import Filter, Near, exact
from penstock.extensions.articles.near.exact import Exact, Gate
from penstock.storage.queries import load
from penstock.testing import drain
from tests.extensions import articles_service
from tests.extensions.test_articles_search_near import CHUNKS, made, names, stored, with_extension

DEADLINE_SECONDS = 60


@pytest.fixture(autouse=True)
def lines_of_every_level() -> Iterator[None]:
    """Whatever a test before has set up in this process."""
    before = structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.configure(**before)


@pytest.fixture
async def generation(connection: asyncpg.Connection) -> Generation:
    await with_extension(connection)
    return await generations.active(connection)


@pytest.fixture
async def opened(database_url: str) -> Any:
    @asynccontextmanager
    async def connected() -> AsyncIterator[asyncpg.Connection]:
        own = await asyncpg.connect(database_url)
        try:
            yield own
        finally:
            await own.close()

    return connected


@pytest.fixture
async def keeping(opened: Any) -> AsyncIterator[Near]:
    near = Near()
    near.keep(opened, 64)
    yield near
    await near.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


async def loaded(near: Near, connection: asyncpg.Connection, generation: Generation) -> None:
    await near.warm(connection, generation)
    await until(lambda: near.holds(generation))


async def forgotten(connection: asyncpg.Connection) -> None:
    """On the server, behind the back of those who keep them: who still finds something has it in memory."""
    await connection.execute("truncate article_search.vectors_1")


async def test_memory_and_server_give_the_same_passages_for_every_filter(
    connection: asyncpg.Connection, generation: Generation, keeping: Near
):
    await stored(connection, range(1, 1501), made(1500 * CHUNKS))
    await loaded(keeping, connection, generation)
    server = Near()
    filters = [
        (Filter(), 50),
        (Filter(viewer="ada"), 50),
        (Filter(viewer="ada", author="bob"), 50),  # 15 articles
        (Filter(viewer="nobody"), 700),  # more than are looked up one by one, fewer than the nearest are of
    ]
    expected = [50, 50, 15, 700]
    for vector in made(4, seed=6):
        for (wanted, limit), count in zip(filters, expected, strict=True):
            ours = await keeping.nearest(connection, generation, vector, wanted=wanted, limit=limit)
            theirs = await server.nearest(connection, generation, vector, wanted=wanted, limit=limit)
            assert names(ours) == names(theirs)
            assert np.allclose([one.similarity for one in ours], [one.similarity for one in theirs], atol=2e-6)
            assert len(ours) == count
    assert len(await keeping.nearest(connection, generation, made(1)[0], wanted=Filter(), limit=2000)) == 1500
    await forgotten(connection)
    assert not await server.nearest(connection, generation, made(1)[0], wanted=Filter(), limit=5)
    assert len(await keeping.nearest(connection, generation, made(1)[0], wanted=Filter(), limit=5)) == 5


async def test_the_server_answers_until_the_vectors_are_there(
    connection: asyncpg.Connection, generation: Generation, opened: Any
):
    may_load = asyncio.Event()

    @asynccontextmanager
    async def slowly() -> AsyncIterator[asyncpg.Connection]:
        await may_load.wait()
        async with opened() as own:
            yield own

    vectors = made(10 * CHUNKS)
    await stored(connection, range(1, 11), vectors)
    near = Near()
    near.keep(slowly, 64)
    try:
        for _ in range(2):
            got = await near.nearest(connection, generation, vectors[0], wanted=Filter(), limit=1)
            assert names(got) == [(1, 0)]
            assert not near.holds(generation)
        may_load.set()
        await until(lambda: near.holds(generation))
        await forgotten(connection)
        assert names(await near.nearest(connection, generation, vectors[0], wanted=Filter(), limit=1)) == [(1, 0)]
    finally:
        await near.close()


async def test_what_is_embedded_or_deleted_is_seen_by_the_next_search(
    connection: asyncpg.Connection, generation: Generation, keeping: Near
):
    vectors = made(50 * CHUNKS, seed=3)[: 40 * CHUNKS]
    await stored(connection, range(1, 11), vectors[: 10 * CHUNKS])
    await loaded(keeping, connection, generation)

    async def first(vector: Any) -> list[tuple[int, int]]:
        assert keeping.holds(generation)
        return names(await keeping.nearest(connection, generation, vector, wanted=Filter(), limit=1))

    for article in range(11, 41):
        own = vectors[(article - 1) * CHUNKS : article * CHUNKS]
        await stored(connection, [article], own)
        assert await first(own[1]) == [(article, 1)]
    await connection.execute("delete from article_search.articles where id = 40")  # its vectors are still there
    assert await first(vectors[39 * CHUNKS + 1]) != [(40, 1)]
    await connection.execute("delete from article_search.vectors_1 where article_id = 39")
    await connection.execute(
        "update article_search.indexed set chunks = 0, changed = pg_current_xact_id() where article_id = 39"
    )
    assert await first(vectors[38 * CHUNKS + 1]) != [(39, 1)]


async def test_after_many_changes_the_server_answers_while_memory_catches_up(
    connection: asyncpg.Connection, generation: Generation, keeping: Near
):
    vectors = made(600 * CHUNKS, seed=3)[: 500 * CHUNKS]
    await stored(connection, range(1, 101), vectors[: 100 * CHUNKS])
    await loaded(keeping, connection, generation)
    await stored(connection, range(101, 501), vectors[100 * CHUNKS :])
    late = vectors[499 * CHUNKS]
    with capture_logs() as lines:
        assert names(await keeping.nearest(connection, generation, late, wanted=Filter(), limit=1)) == [(500, 0)]
        assert not keeping.holds(generation)
        await until(lambda: keeping.holds(generation))
    assert [line["event"] for line in lines] == ["articles.loading", "articles.loaded"]
    await forgotten(connection)
    assert names(await keeping.nearest(connection, generation, late, wanted=Filter(), limit=1)) == [(500, 0)]


@pytest.mark.parametrize("most_mb", [0, 1])
async def test_what_does_not_fit_is_left_to_the_server(
    connection: asyncpg.Connection, generation: Generation, opened: Any, most_mb: int
):
    vectors = made(400 * CHUNKS)
    await stored(connection, range(1, 401), vectors)
    near = Near()
    near.keep(opened, most_mb)
    try:
        with capture_logs() as lines:
            await near.warm(connection, generation)
            if most_mb:
                await until(lambda: bool(lines))
                assert (lines[0]["event"], lines[0]["why"]) == ("articles.not_in_memory", "they need 1 MB")
                await until(lambda: near._memory is not None and near._memory._loading is None)
        assert not near.holds(generation)
        assert names(await near.nearest(connection, generation, vectors[7], wanted=Filter(), limit=1)) == [(3, 1)]
        assert not near.holds(generation)
    finally:
        await near.close()


async def test_what_has_grown_too_large_is_given_back_to_the_server(
    connection: asyncpg.Connection, generation: Generation, opened: Any, monkeypatch: pytest.MonkeyPatch
):
    vectors = made(50 * CHUNKS)
    await stored(connection, range(1, 41), vectors[: 40 * CHUNKS])
    near = Near()
    near.keep(opened, 64)
    try:
        await loaded(near, connection, generation)
        monkeypatch.setattr(near._memory, "_most_bytes", 1000)
        await stored(connection, range(41, 51), vectors[40 * CHUNKS :])
        with capture_logs() as lines:
            assert names(await near.nearest(connection, generation, vectors[-1], wanted=Filter(), limit=1))
        assert "they have grown to" in lines[0]["why"]
        assert not near.holds(generation)
    finally:
        await near.close()


async def test_a_load_that_fails_is_told_and_tried_again_later(
    connection: asyncpg.Connection, generation: Generation, opened: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(exact, "_AGAIN_SECONDS", 0.0)
    tries = 0

    @asynccontextmanager
    async def refused() -> AsyncIterator[asyncpg.Connection]:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("the pool is away")
        async with opened() as own:
            yield own

    vectors = made(CHUNKS)
    await stored(connection, [1], vectors)
    near = Near()
    near.keep(refused, 64)
    try:
        with capture_logs() as lines:
            assert await near.nearest(connection, generation, vectors[0], wanted=Filter(), limit=1)
            await until(lambda: bool(lines))
        assert "the pool is away" in lines[0]["why"]
        assert await near.nearest(connection, generation, vectors[0], wanted=Filter(), limit=1)
        await until(lambda: near.holds(generation))
    finally:
        await near.close()


async def test_another_generation_takes_the_place_once_it_is_the_active_one(
    connection: asyncpg.Connection, generation: Generation, keeping: Near
):
    vectors = made(2 * CHUNKS)
    await stored(connection, [1, 2], vectors)
    await loaded(keeping, connection, generation)
    await connection.execute("create table article_search.vectors_2 (like article_search.vectors_1)")
    await connection.execute("insert into article_search.vectors_2 select * from article_search.vectors_1")
    await connection.execute(
        "insert into article_search.indexed (article_id, generation, revision, digest, chunks) "
        "select article_id, 2, revision, digest, chunks from article_search.indexed"
    )
    ready = replace(generation, id=2, name="second", state=GenerationState.READY)
    for _ in range(2):  # compared with the active one, which stays where it is
        assert await keeping.nearest(connection, ready, vectors[0], wanted=Filter(), limit=1)
        assert keeping.holds(generation) and not keeping.holds(ready)
    switched = replace(ready, state=GenerationState.ACTIVE)
    assert await keeping.nearest(connection, switched, vectors[0], wanted=Filter(), limit=1)
    await until(lambda: keeping.holds(switched))
    assert not keeping.holds(generation)
    assert await keeping.nearest(connection, generation, vectors[0], wanted=Filter(), limit=1)


async def test_numbers_of_transactions_from_a_backup_are_read_once_and_a_server_that_went_back_is_read_anew(
    connection: asyncpg.Connection, generation: Generation, monkeypatch: pytest.MonkeyPatch
):
    vectors = made(3 * CHUNKS)
    await stored(connection, [1, 2], vectors[: 2 * CHUNKS])
    await connection.execute("update article_search.indexed set changed = '99999999999'")
    kept, read = Exact(generation), list[list[int]]()
    real = kept._read

    async def noted(own: Any, ids: Any) -> None:
        read.append(sorted(ids))
        await real(own, ids)

    monkeypatch.setattr(kept, "_read", noted)
    for _ in range(3):
        assert len(await kept.nearest(connection, vectors[0], wanted=Filter(), limit=9)) == 2
    await stored(connection, [3], vectors[2 * CHUNKS :])
    assert len(await kept.nearest(connection, vectors[0], wanted=Filter(), limit=9)) == 3
    assert read == [[1, 2], [3]]
    kept._snapshot = "999999999:999999999:"
    await connection.execute("delete from article_search.indexed where article_id = 2")
    assert {1, 3} == {one.article_id for one in await kept.nearest(connection, vectors[0], wanted=Filter(), limit=9)}
    assert read[2:] == [[1, 3]]


async def test_what_changed_is_found_by_the_index_of_transactions(
    connection: asyncpg.Connection, generation: Generation
):
    await stored(connection, range(1, 2001), made(2000 * CHUNKS))
    await connection.execute("analyze article_search.indexed")
    snapshot = await connection.fetchval("select pg_current_snapshot()::text")
    query = "explain " + load("nearest", "penstock.extensions.articles").changed
    plan = "\n".join(row[0] for row in await connection.fetch(query, generation.id, snapshot, 201))
    assert "indexed_changed" in plan, plan


async def test_searches_beside_changes_see_whole_articles(
    connection: asyncpg.Connection, generation: Generation, keeping: Near, database_url: str
):
    """An article's passages all move together, from one corner to the opposite one."""
    corner = made(1)[0]
    await stored(connection, range(1, 301), made(300 * CHUNKS, seed=8))
    await stored(connection, [301], np.stack([corner] * CHUNKS))
    await loaded(keeping, connection, generation)
    writer = await asyncpg.connect(database_url)
    seen: list[float] = []

    async def search() -> None:
        own = await asyncpg.connect(database_url)
        try:
            while not moved.done():
                got = await keeping.nearest(own, generation, corner, wanted=Filter(), limit=301)
                seen.extend(one.similarity for one in got if one.article_id == 301)
        finally:
            await own.close()

    async def move() -> None:
        for _ in range(40):
            async with writer.transaction():
                await writer.execute(
                    "update article_search.vectors_1 set embedding = array(select -x from unnest(embedding) x) "
                    "where article_id = 301"
                )
                await writer.execute(
                    "update article_search.indexed set changed = pg_current_xact_id() where article_id = 301"
                )

    moved = asyncio.create_task(move())
    try:
        await asyncio.gather(moved, *(search() for _ in range(3)))
    finally:
        await writer.close()
    assert seen and {abs(one) for one in seen} == {1.0}


async def test_a_change_is_not_taken_over_while_a_search_compares(
    connection: asyncpg.Connection, generation: Generation, opened: Any, monkeypatch: pytest.MonkeyPatch
):
    vectors = made(2 * CHUNKS)
    await stored(connection, [1], vectors[:CHUNKS])
    kept, compares, go_on = Exact(generation), threading.Event(), threading.Event()
    await kept.refresh(connection)
    rows, real = kept._rows, kept._rows.nearest

    def slowly(*values: Any) -> Any:
        compares.set()
        assert go_on.wait(DEADLINE_SECONDS)
        assert len(rows) == CHUNKS
        return real(*values)

    monkeypatch.setattr(rows, "nearest", slowly)
    search = asyncio.create_task(kept.compare(connection, vectors[0], wanted=Filter(), limit=9))
    await until(compares.is_set)
    async with opened() as own:
        await stored(own, [2], vectors[CHUNKS:])
        refresh = asyncio.create_task(kept.refresh(own))
        await until(lambda: not kept._gate._open.is_set() or refresh.done())
        go_on.set()
        assert [one.article_id for one in await search] == [1]
        await refresh
    assert len(rows) == 2 * CHUNKS


async def test_a_change_waits_for_those_who_look_and_a_cancelled_look_leaves():
    gate, steps, leave = Gate(), list[str](), asyncio.Event()

    async def look(name: str, until: asyncio.Event | None) -> None:
        async with gate.reading():
            steps.append(f"{name} looks")
            if until is not None:
                await until.wait()
            steps.append(f"{name} leaves")

    async def write() -> None:
        async with gate.writing():
            steps.append("writes")

    first = asyncio.create_task(look("first", leave))
    hangs = asyncio.create_task(look("second", asyncio.Event()))
    await until(lambda: len(steps) == 2)
    writes = asyncio.create_task(write())
    await asyncio.sleep(0)
    late = asyncio.create_task(look("late", None))
    hangs.cancel()
    await asyncio.gather(hangs, return_exceptions=True)
    leave.set()
    await asyncio.wait_for(asyncio.gather(first, writes, late), DEADLINE_SECONDS)
    assert steps == ["first looks", "second looks", "first leaves", "writes", "late looks", "late leaves"]


async def test_the_service_keeps_the_vectors_and_finds_what_was_just_embedded(database_url: str):
    async with articles_service.serving(database_url) as service:
        await service.fetch("create extension if not exists vector")
        near, client = service.api.state.article_search.near, await service.client()
        async with service.app.connection() as connection:
            active = await generations.active(connection)
            await loaded(near, connection, active)
        for title, content in (("Brakes", "How a bicycle stops."), ("Bread", "Flour, water, salt and yeast.")):
            assert (await client.post("/api/articles", json={"title": title, "content": content})).status_code == 201
            await drain(service.app, only=["articles"])
            answer = await client.get("/api/search", params={"q": content, "mode": "semantic"})
            assert answer.json()["items"][0]["title"] == title
            assert near.holds(active)
        await service.fetch("truncate article_search.vectors_1")
        answer = await client.get("/api/search", params={"q": "a bicycle stops", "mode": "semantic"})
        assert answer.json()["items"][0]["title"] == "Brakes"


async def test_without_the_setting_the_service_keeps_nothing(database_url: str):
    async with articles_service.serving(database_url, articles_memory_mb=0) as service:
        assert service.api.state.article_search.near._memory is None


def test_batches_are_bounded_by_passages_not_by_articles():
    news = [{"article_id": n, "chunks": chunks} for n, chunks in enumerate([900, 200, 5000, 0, 1])]
    assert list(exact._batches(news)) == [[0, 1], [2], [3, 4]]
