"""What `penstock articles` says while it waits, when nothing is found, and of generations that need a person."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import asyncpg
import orjson

from tests.cli.conftest import Background
from tests.cli.test_articles_cli import APP, Articles, articles, data, worker
from tests.cli.waiting import wait_until
from tests.extensions.embedding_world import KEY, EmbeddingServer, embedder_table, embedders_file

__all__ = ["articles", "worker"]

Start = Callable[..., Background]
NO_WORKER = "Still waiting: no live worker embeds articles. Start one in another terminal: `penstock up`, or"


def told_of(waiting: Background) -> None:
    wait_until(lambda: NO_WORKER in waiting.stderr, what="the remark", log=lambda: waiting.stderr)


def test_a_wait_without_a_worker_says_that_it_is_saved_and_what_is_missing(
    articles: Articles, start: Start, database_url: str, tmp_path: Path
):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "weirs.md").write_text("# Weirs\n\nA weir raises the water.")
    waits = [
        start("articles", *arguments, "--wait", app=APP, database_url=database_url)
        for arguments in (("add", str(folder / "weirs.md")), ("import", str(folder)))
    ]
    for one in waits:
        told_of(one)
        assert f"`penstock worker --app {APP}`" in one.stderr
    # The import beside it may have taken the slug first.
    assert re.search(r"weirs(-2)? is saved as revision 1; waiting for its embedding, task", waits[0].stderr)
    assert "1 article is new" in waits[1].stderr
    building = start("articles", "generations", "build", "next", "--wait", app=APP, database_url=database_url)
    told_of(building)
    start("worker", "--app", APP, database_url=database_url)
    for one in (*waits, building):
        assert one.ended(60) == 0, one.stderr
        assert one.stderr.count(NO_WORKER) == 1
    assert "and embedded." in waits[0].stdout
    assert "is ready." in building.stdout


async def test_another_generation_that_fails_is_a_remark_and_no_failure(
    articles: Articles, worker: Background, connection: asyncpg.Connection
):
    """Its embedder is one that no worker knows."""
    await asyncio.to_thread(articles, "add", "-", "--title", "First", "--wait", text="text")
    built = await asyncio.to_thread(articles, "generations", "build", "next", "--wait")
    assert built.returncode == 0, built.stderr
    await connection.execute("update article_search.generations set embedder = 'gone' where name = 'next'")
    added = await asyncio.to_thread(articles, "add", "-", "--title", "Weirs", "--wait", text="A weir.")
    assert (added.returncode, "and embedded." in added.stdout) == (0, True), added.stderr
    assert "For a generation that is not the active one: Task" in added.stderr
    tasks = await asyncio.to_thread(articles, "tasks", "--status", "failed")
    assert "generation" in tasks.stdout and " next " in tasks.stdout
    assert "for the workers and the service alike, and restart them." in tasks.stdout  # not cut
    await connection.execute("update article_search.generations set embedder = 'gone' where name = 'first'")
    failed = await asyncio.to_thread(articles, "add", "-", "--title", "Gates", "--wait", "-o", "json", text="A gate.")
    assert (failed.returncode, orjson.loads(failed.stdout)["embedded"]) == (1, False), failed.stderr


async def test_a_build_that_needs_a_person_ends_with_the_note(
    articles: Articles, start: Start, database_url: str, tmp_path: Path, connection: asyncpg.Connection
):
    """The embedder answers the probe of the command, and is unknown to the worker."""
    await asyncio.to_thread(articles, "add", "-", "--title", "First", text="text")
    start("worker", "--app", APP, database_url=database_url)
    async with EmbeddingServer() as server:
        file = embedders_file(tmp_path, embedder_table("good", server.url, key_variable="PENSTOCK_TEST_KEY"))
        settings = {"articles_embedders_file": str(file), "test_key": KEY}
        built = await asyncio.to_thread(
            lambda: articles("generations", "build", "next", "--embedder", "good", "--wait", **settings)
        )
    assert (built.returncode, "The only article could not be embedded" in built.stdout) == (1, True), (
        built.stdout + built.stderr
    )
    assert "is building." in built.stdout
    listed = await asyncio.to_thread(articles, "generations", "list")
    assert "retry-failed --category configuration`." in listed.stdout  # the note is not cut
    assert await connection.fetchval("select state from article_search.generations where name = 'next'") == "building"


async def test_a_wait_says_that_the_provider_throttles(
    articles: Articles, start: Start, database_url: str, tmp_path: Path
):
    async with EmbeddingServer() as server:
        file = embedders_file(tmp_path, embedder_table("good", server.url, key_variable="PENSTOCK_TEST_KEY"))
        settings = {"articles_embedders_file": str(file), "test_key": KEY}
        start("worker", "--app", APP, database_url=database_url, **settings)
        for arguments in (("build", "next", "--embedder", "good", "--wait"), ("switch", "next")):
            done = await asyncio.to_thread(partial(articles, "generations", *arguments, **settings))
            assert done.returncode == 0, done.stderr
        server.throttles, server.retry_after = 1, "7"
        added = await asyncio.to_thread(lambda: articles("add", "-", "--title", "Weirs", "--wait", text="A weir."))
    assert (added.returncode, "and embedded." in added.stdout) == (0, True), added.stderr
    assert "Still waiting: " in added.stderr and "throttl" in added.stderr.lower(), added.stderr


def test_what_is_said_when_nothing_is_found_fits(articles: Articles):
    def said(*arguments: str) -> str:
        done = articles(*arguments)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        return done.stderr

    assert "No articles yet." in said("search", "weir")
    assert "No articles yet." in said("list")
    articles("add", "-", "--title", "Weirs", text="A weir.")
    assert "No article has these words. Try others, or --mode hybrid" in said("search", "zebra", "--mode", "keyword")
    assert "none could be searched by meaning" in said("search", "zebra")
    assert "There is no user 'bob'." in said("search", "weir", "--author", "bob")
    assert "There is no user 'bob'." in said("search", "weir", "--owner", "bob")
    assert "Widen them" in said("search", "weir", "--author", "ann")
    assert "the page before was the last" in said("search", "weir", "--after", "10")
    assert "No other article that may be seen here" in said("similar", "weirs")


def test_an_expected_article_has_to_be_there(articles: Articles):
    refused = articles("queries", "add", "raising water", "--expect", "weirs")
    assert (refused.returncode, "There is no article 'weirs' to be expected." in refused.stderr) == (2, True)
    assert data(articles("queries", "list", "-o", "json")) == []
    assert articles("queries", "add", "raising water", "--expect", "weirs", "--force").returncode == 0
    articles("add", "-", "--title", "Gates", text="A gate.")
    assert articles("queries", "add", "gates", "--expect", "gates").returncode == 0
