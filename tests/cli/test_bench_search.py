"""The search bench runs once, tiny, so that it cannot rot. Its figures mean nothing at this size."""

import io

import orjson

from penstock.terminal.options import Format, Options
from penstock.terminal.output import Output
from penstock.terminal.session import Session
from penstock_bench import search
from penstock_bench.search_corpus import Writer


async def test_the_search_bench_fills_searches_and_saves(server_url: str) -> None:
    session = Session(Options(output=Format.json, database_url=server_url, quiet=True))
    out = io.StringIO()
    session.out = Output(json=True, quiet=True, stdout=out, stderr=io.StringIO())
    await search.search(session, search.Sizes(chunks=300, queries=10, batch_size=8, saves=5, rounds=1))
    figures = orjson.loads(out.getvalue())
    assert figures["chunks"] >= 300
    assert 300 / 10 < figures["articles"] < 300
    # The ten and those that warm up; a question of made-up words may have nothing to do with so few articles.
    assert 20 <= figures["queries_with_hits"] <= 30
    assert 0 < figures["p50_ms"] <= figures["p95_ms"] <= figures["longest_ms"]
    # Below the size that is worth an index, both ways compare everything.
    assert figures["recall_at_10"] == figures["index_recall_at_10"] == 1
    assert figures["load_seconds"] >= 0
    assert figures["chunks_per_second_with_index"] <= figures["chunks_per_second"]
    assert set(figures["save_ms"]) == {"idle", "down", "reindex"}
    assert figures["save_reindex_ratio"] > 0
    assert set(figures["goals_met"]) == {goal.key for goal in search.GOALS}


def test_the_same_seed_writes_the_same_articles_of_several_chunks() -> None:
    first, again, other = (list(Writer(seed).articles(100)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert 3 < sum(one.chunks for one in first) / len(first) < 8


def test_no_two_queries_are_alike_and_their_lengths_differ() -> None:
    queries = Writer(1).queries(200)
    assert len(set(queries)) == 200
    assert {len(query.split()) for query in queries} == set(range(1, 13))
