"""Every bench runs once, tiny, so that it cannot rot. Its figures mean nothing at this size."""

import io
import os
from pathlib import Path
from typing import Any

import asyncpg
import orjson
import pytest

from penstock.terminal.options import Format, Options
from penstock.terminal.output import Output
from penstock.terminal.session import Session
from penstock_bench import enqueue, growth, ingest, latency, pages, retrieval, throughput
from penstock_bench.figures import Goal, Rounds, tell


@pytest.fixture
def session(server_url: str) -> Session:
    """Like ``penstock bench … -o json --database-url …``, its output kept."""
    made = Session(Options(output=Format.json, database_url=server_url, quiet=True))
    made.out = Output(json=True, quiet=True, stdout=io.StringIO(), stderr=io.StringIO())
    return made


def printed(session: Session) -> dict[str, Any]:
    assert isinstance(session.out.stdout, io.StringIO)
    figures: dict[str, Any] = orjson.loads(session.out.stdout.getvalue())
    return figures


async def bench_databases(server_url: str) -> list[str]:
    connection = await asyncpg.connect(server_url)
    try:
        mine = f"penstock_bench_{os.getpid()}_%"
        rows = await connection.fetch("select datname from pg_database where datname like $1", mine)
        return [row[0] for row in rows]
    finally:
        await connection.close()


async def test_the_throughput_bench_drains_every_task_with_a_runner_and_bare(session: Session, server_url: str) -> None:
    await throughput.throughput(session, throughput.Sizes(tasks=300, rounds=1))
    figures = printed(session)
    better = max(figures["raw1_tasks_per_second"], figures["raw2_tasks_per_second"])
    assert figures["raw_tasks_per_second"] == better
    assert figures["ratio"] == pytest.approx(figures["tasks_per_second"] / better, abs=0.001)
    assert figures["wal_bytes_per_task"] > 100
    assert await bench_databases(server_url) == []


async def test_the_enqueue_bench_reports_the_worst_of_its_batch_sizes(session: Session) -> None:
    sizes = enqueue.Sizes(batches=(50, 6000), least_rows=50, rounds=1, single=5)
    await enqueue.enqueue(session, sizes)
    figures = printed(session)
    assert figures["ratio"] == min(one["ratio"] for one in figures["batches"])
    assert [one["rows_per_call"] for one in figures["batches"]] == [50, 6000]
    assert figures["single"]["p50_ms"] > 0


async def test_the_latency_bench_measures_each_sample_up_to_the_start_of_its_handler(session: Session) -> None:
    await latency.latency(session, latency.Sizes(samples=10, longest_gap_seconds=0.01))
    figures = printed(session)
    assert figures["samples"] == 10
    assert 0 < figures["p50_ms"] <= figures["p99_ms"] <= figures["longest_ms"]
    assert figures["after_return_ms"]["p50"] < figures["p50_ms"]


async def test_the_growth_bench_makes_its_three_comparisons(session: Session) -> None:
    sizes = growth.Sizes(
        tasks=200, rounds=1, short_backlog=200, long_backlog=1000, lanes=30, tasks_in_lanes=200, drained_before=300
    )
    await growth.growth(session, sizes)
    figures = printed(session)
    assert {key for key in figures if key.endswith("_ratio")} == {"backlog_ratio", "lanes_ratio", "xmin_ratio"}
    assert all(one["tasks_per_second"] > 0 and one["against"] > 0 for one in figures["comparisons"])


async def test_the_ingest_bench_stores_the_same_rows_in_three_ways(session: Session) -> None:
    await ingest.ingest(session, ingest.Sizes(rows=20_000, rounds=1))
    figures = printed(session)
    (only,) = figures["rounds"]
    assert figures["ratio"] == pytest.approx(only["ingest"] / only["copy"], abs=0.001) and figures["ratio"] > 0
    assert (
        figures["flat_ratio"] == pytest.approx(only["ingest"] / only["flat"], abs=0.001) and figures["flat_ratio"] > 0
    )
    assert figures["peak_rss_mb"] > 0


async def test_the_pages_bench_asks_a_small_and_a_large_job_in_turn(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    await pages.pages(session, pages.Sizes(small=500, large=2_000, requests=10, rounds=1))
    figures = printed(session)
    assert figures["ratio"] == max(figures["items_ratio"], figures["pending_ratio"])
    assert figures["large_items_p95_ms"] > 0
    assert capsys.readouterr().out == "", "standard output belongs to the figures"


async def test_the_retrieval_bench_tells_three_marks_per_mode(
    session: Session, server_url: str, tmp_path: Path
) -> None:
    told = [
        f'[[article]]\nslug = "{slug}"\ntitle = "{title}"\ncontent = "{content}"\ndomain = "D"\n'
        for slug, title, content in [("dogs", "Dogs", "A puppy barks."), ("ships", "Ships", "The harbour is full.")]
    ]
    (tmp_path / "articles_x.toml").write_text("\n".join(told))
    query = '[[query]]\nquery = "ships"\nheld_out = false\nrelevant = { ships = 3 }\n'
    (tmp_path / "queries_x.toml").write_text(query)
    await retrieval.retrieval(session, tmp_path)
    figures = printed(session)
    assert (figures["articles"], figures["queries"], figures["held_out"]) == (2, 1, 0)
    found = {row["mode"]: row for row in figures["modes"] if row["part"] == "tuned"}
    assert set(found) == {"keyword", "semantic", "hybrid"}
    assert {(row["ndcg_at_10"], row["recall_at_10"], row["mrr"]) for row in found.values()} == {(1.0, 1.0, 1.0)}
    assert await bench_databases(server_url) == []


def test_people_get_a_table_and_a_verdict_per_goal() -> None:
    session = Session(Options())
    session.out = Output(stdout=io.StringIO(), stderr=io.StringIO())
    goal = Goal(key="ratio", least=0.6, meaning="It should be near one.")
    tell(session, {"ratio": 0.5}, [{"way": "one runner", "tasks_per_second": 1234}], [goal])
    assert isinstance(session.out.stdout, io.StringIO)
    lines = session.out.stdout.getvalue().splitlines()
    assert lines[0].split() == ["way", "tasks", "per", "second"]
    assert lines[1].split() == ["one", "runner", "1,234"]
    assert lines[2] == "ratio 0.5 (≥ 0.6): short of the goal. It should be near one."


def test_a_round_that_would_end_too_late_is_not_begun() -> None:
    assert list(Rounds(3, until=None)) == [1, 2, 3]
    assert list(Rounds(3, until=0.0)) == [1]
