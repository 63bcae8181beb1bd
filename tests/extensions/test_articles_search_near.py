"""The nearest passages: numpy and pgvector give the same, whatever changes meanwhile."""

from collections.abc import AsyncIterator, Sequence

import asyncpg
import numpy as np
import pytest

from penstock.extensions.articles import generations
from penstock.extensions.articles.embedders.embedder import Vectors
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.near import Filter, Near, Passage
from penstock.extensions.articles.near.exact import Exact
from penstock.storage.queries import load

_ARTICLES = """
insert into article_search.articles (id, slug, title, owner, visibility, words)
select n, 'a' || n, 'Title', case when n % 100 = 0 then 'bob' else 'ada' end,
       case when n % 2 = 0 then 'shared' else 'private' end, ''
from unnest($1::bigint[]) n
"""
_INDEXED = """
insert into article_search.indexed (article_id, generation, revision, digest, chunks)
select n, 1, 1, '', count(*) from unnest($1::bigint[]) n group by n
on conflict (article_id, generation) do update set chunks = excluded.chunks, changed = pg_current_xact_id()
"""
_VECTORS = """
insert into article_search.vectors_1 (article_id, ordinal, revision, starts, ends, digest, embedding)
select a, o, 1, o * 100, o * 100 + 99, '', array(select x::real from jsonb_array_elements_text(e::jsonb) x)
from unnest($1::bigint[], $2::integer[], $3::text[]) as t (a, o, e)
"""
CHUNKS = 3


def made(count: int, seed: int = 5) -> Vectors:
    """Of length 1, in bunches, some twice."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(20, 256))
    rows = centres[chance.integers(0, 20, count)] + chance.normal(size=(count, 256)) * 0.8
    twice = count // 10
    rows[count - twice :] = rows[:twice]
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


async def stored(connection: asyncpg.Connection, ids: Sequence[int], vectors: Vectors) -> None:
    articles = [one for one in ids for _ in range(CHUNKS)]
    ordinals = [ordinal for _ in ids for ordinal in range(CHUNKS)]
    async with connection.transaction():
        await connection.execute(_ARTICLES, list(ids))
        await connection.execute(_INDEXED, articles)
        texts = [str(vector.tolist()) for vector in vectors]
        await connection.execute(_VECTORS, articles, ordinals, texts)


@pytest.fixture
async def generation(connection: asyncpg.Connection) -> Generation:
    return await generations.active(connection)


@pytest.fixture
async def near() -> AsyncIterator[Near]:
    opened = Near()
    yield opened
    await opened.close()


def names(passages: Sequence[Passage]) -> list[tuple[int, int]]:
    return [(one.article_id, one.ordinal) for one in passages]


async def with_extension(connection: asyncpg.Connection) -> None:
    await connection.execute("create extension if not exists vector")


async def test_numpy_and_pgvector_give_the_same_passages_in_the_same_order(
    connection: asyncpg.Connection, generation: Generation, near: Near
):
    await stored(connection, range(1, 601), made(600 * CHUNKS))
    await with_extension(connection)
    exact = Exact(generation)
    filters = [Filter(), Filter(viewer="ada"), Filter(viewer="nobody"), Filter(viewer="ada", author="bob")]
    for number, vector in enumerate(made(30, seed=6)):
        wanted = filters[number % len(filters)]
        ours = await exact.nearest(connection, vector, wanted=wanted, limit=50)
        theirs = await near.nearest(connection, generation, vector, wanted=wanted, limit=50)
        assert names(ours) == names(theirs)
        assert np.allclose([one.similarity for one in ours], [one.similarity for one in theirs], atol=2e-6)
        assert len(ours) == (6 if wanted.author else 50)


async def test_the_answer_is_the_true_order_with_ties_by_article(
    connection: asyncpg.Connection, generation: Generation, near: Near
):
    vectors = made(400 * CHUNKS)
    await stored(connection, range(1, 401), vectors)
    vector = made(1, seed=9)[0]
    products = (vectors.astype(np.float64) @ vector.astype(np.float64)).round(6)
    order = sorted(range(len(products)), key=lambda row: (-products[row], row))
    expected = list(dict.fromkeys(row // CHUNKS + 1 for row in order))[:100]
    got = await near.nearest(connection, generation, vector, wanted=Filter(), limit=100)
    assert [one.article_id for one in got] == expected


async def test_what_is_embedded_changed_or_deleted_is_seen_by_the_next_search(
    connection: asyncpg.Connection, generation: Generation
):
    exact, vectors = Exact(generation), made(50 * CHUNKS, seed=3)[: 40 * CHUNKS]
    everything = Filter()
    await stored(connection, range(1, 11), vectors[: 10 * CHUNKS])
    assert len(await exact.nearest(connection, vectors[0], wanted=everything, limit=100)) == 10
    await stored(connection, range(11, 41), vectors[10 * CHUNKS :])
    late = vectors[39 * CHUNKS]
    assert names(await exact.nearest(connection, late, wanted=everything, limit=1)) == [(40, 0)]
    await connection.execute("delete from article_search.vectors_1 where article_id = 40 and ordinal = 0")
    await connection.execute(
        "update article_search.indexed set chunks = 2, changed = pg_current_xact_id() where article_id = 40"
    )
    assert names(await exact.nearest(connection, late, wanted=everything, limit=1)) != [(40, 0)]
    await connection.execute("delete from article_search.vectors_1 where article_id = 39")
    await connection.execute(
        "update article_search.indexed set chunks = 0, changed = pg_current_xact_id() where article_id = 39"
    )
    await connection.execute("delete from article_search.articles where id = 38")  # its vectors are still there
    left = {one.article_id for one in await exact.nearest(connection, late, wanted=everything, limit=100)}
    assert left == set(range(1, 41)) - {38, 39}


async def test_a_transaction_that_commits_late_is_not_missed(
    connection: asyncpg.Connection, generation: Generation, database_url: str
):
    exact, vectors = Exact(generation), made(2 * CHUNKS, seed=4)
    other = await asyncpg.connect(database_url)
    try:
        slow = other.transaction()
        await slow.start()
        await stored(other, [1], vectors[:CHUNKS])
        await stored(connection, [2], vectors[CHUNKS:])  # begins later, commits first
        assert {2} == {one.article_id for one in await exact.nearest(connection, vectors[0], wanted=Filter(), limit=9)}
        await slow.commit()
        got = await exact.nearest(connection, vectors[0], wanted=Filter(), limit=9)
        assert {one.article_id for one in got} == {1, 2}
    finally:
        await other.close()


async def test_an_extension_that_comes_later_is_noticed(
    connection: asyncpg.Connection, generation: Generation, near: Near
):
    await stored(connection, [1], made(CHUNKS))
    assert not (await near.ways(connection, generation)).compares
    assert await near.nearest(connection, generation, made(1)[0], wanted=Filter(), limit=5)
    await with_extension(connection)
    assert (await near.ways(connection, generation)).compares
    assert await near.nearest(connection, generation, made(1)[0], wanted=Filter(), limit=5)
    await connection.execute("drop extension vector")
    assert await near.nearest(connection, generation, made(1)[0], wanted=Filter(), limit=5)


async def test_an_article_of_many_passages_does_not_crowd_out_the_others(
    connection: asyncpg.Connection, generation: Generation, near: Near
):
    vectors = made(30 * CHUNKS)
    await stored(connection, range(1, 31), vectors)
    await connection.execute(
        "insert into article_search.vectors_1 select 1, n, 1, 0, 9, '', v.embedding "
        "from article_search.vectors_1 v, generate_series(10, 200) n where v.article_id = 1 and v.ordinal = 0"
    )
    await with_extension(connection)
    for one in (near, None):
        exact = Exact(generation)
        nearest = one.nearest(connection, generation, vectors[0], wanted=Filter(), limit=20) if one else None
        got = await (nearest or exact.nearest(connection, vectors[0], wanted=Filter(), limit=20))
        assert len(got) == 20
        assert names(got)[0] == (1, 0)


async def test_zeros_are_near_to_nothing(connection: asyncpg.Connection, generation: Generation, near: Near):
    await stored(connection, [1], made(CHUNKS))
    assert await near.nearest(connection, generation, np.zeros(256, np.float32), wanted=Filter(), limit=5) == []


async def test_the_index_is_walked_where_there_is_one(
    connection: asyncpg.Connection, generation: Generation, near: Near
):
    vectors = made(1500 * CHUNKS)
    await stored(connection, range(1, 1501), vectors)
    await with_extension(connection)
    create = generation.query(load("ann", "penstock.extensions.articles").create)
    await connection.execute(create.replace("concurrently ", ""))
    await connection.execute("analyze article_search.vectors_1, article_search.articles")
    assert (await near.ways(connection, generation)).walks
    queries = load("nearest", "penstock.extensions.articles")
    for viewer in (None, "ada"):
        values = (viewer, None, None, None, vectors[0].tolist(), 200)
        rows = await connection.fetch("explain " + generation.query(queries.by_index), *values)
        plan = "\n".join(row[0] for row in rows)
        assert "Index Scan using vectors_1_near" in plan, plan
    exact, found = Exact(generation), 0
    for vector in (vectors[:400:20] + made(20, seed=8)) / 2:
        true = await exact.nearest(connection, vector, wanted=Filter(viewer="ada"), limit=10)
        walked = await near.nearest(connection, generation, vector, wanted=Filter(viewer="ada"), limit=10)
        found += len(set(names(true)) & set(names(walked)))
    assert found >= 190
