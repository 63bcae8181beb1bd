"""`penstock articles coverage`, `stats`, `tasks`, `retry-failed` and `clear`."""

import asyncio
import subprocess
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from penstock.extensions.articles.errors import EmbedderMisconfigured
from tests.cli.conftest import Call
from tests.extensions.article_world import article_world

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
async def articles(database_url: str, call: Call) -> Run:
    """Three articles: one indexed, one failed, one not embedded at all."""
    async with article_world(database_url) as world:
        await world.save("Pumps", "They move water.")
        await world.drain()
        world.switch.error = EmbedderMisconfigured("Set the key of the embedder.")
        await world.save("Valves", "They close.")
        await world.drain()
        await world.save("Pipes", "They lead water.", skip_embedding=True)

    def run(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        return call("articles", *arguments, database_url=database_url, **settings)

    return run


async def data(run: Run, *arguments: str) -> Any:
    done = await asyncio.to_thread(run, *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return orjson.loads(done.stdout)


async def test_coverage_says_what_is_found_by_meaning_and_why_the_rest_is_not(articles: Run):
    found = await data(articles, "coverage")
    assert (found["total"], found["indexed"], found["stale"], found["pending"]) == (3, 1, 0, 2)
    assert (found["waiting"], found["failed"], found["missing"], found["generation"]) == (0, 1, 1, "first")
    told = await asyncio.to_thread(articles, "coverage")
    assert "1 failed, 1 not queued" in told.stdout and "33.3%" in told.stdout
    missing = await asyncio.to_thread(articles, "coverage", "--generation", "secnd")
    assert missing.returncode != 0 and "first" in missing.stderr


async def test_stats_are_the_counts_of_the_queue(articles: Run):
    found = await data(articles, "stats")
    assert (found["completed"], found["failed"], found["pending"], found["total"]) == (1, 1, 0, 2)
    assert (found["enabled"], found["alerts"], found["worker"]["processed"]) == (True, [], 2)
    told = await asyncio.to_thread(articles, "stats", articles_enabled="false")
    assert told.returncode == 0 and "PENSTOCK_ARTICLES_ENABLED is false" in told.stdout


async def test_tasks_are_listed_with_their_error_and_what_to_do(articles: Run):
    found = await data(articles, "tasks", "--status", "failed")
    (failed,) = found["items"]
    assert (failed["slug"], failed["category"], failed["error"]) == (
        "valves",
        "configuration",
        "Set the key of the embedder.",
    )
    told = await asyncio.to_thread(articles, "tasks", "--limit", "1")
    assert "valves" in told.stdout and "pumps" not in told.stdout
    assert f"--after '{failed['task_id']}'" in told.stderr and "retry-failed" in told.stderr
    refused = await asyncio.to_thread(articles, "tasks", "--status", "done")
    assert refused.returncode == 2 and "pending, processing" in refused.stderr


async def test_failed_ones_are_retried_and_completed_ones_cleared(articles: Run):
    assert await data(articles, "retry-failed", "--category", "data") == {"retried": 0}
    assert await data(articles, "retry-failed") == {"retried": 1}
    assert (await data(articles, "clear"))["cleared"] == 0
    assert await data(articles, "clear", "--older-than", "0", "--yes") == {"cleared": 1, "older_than_days": 0.0}
    assert (await data(articles, "stats"))["total"] == 1
