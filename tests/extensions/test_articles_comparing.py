"""Generations compared on saved queries, and searches that never fail while generations come and go."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock import worker
from penstock.errors import IllegalMove, NotKnown, UsageError
from penstock.extensions.articles import ann, building, comparing, generations
from penstock.extensions.articles.comparing import Answered, MovedArticle, SavedQuery
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.names import BUILD, PIPELINE
from penstock.extensions.articles.searching import Question, search
from penstock.testing import drain
from tests.cli.seeing.command_line import CommandLine
from tests.extensions.article_world import OWNER, World, article_world

SUBJECTS = ("pump", "bridge", "oven", "sail", "clock", "lamp", "loom", "mill")
QUERY = SavedQuery(id=1, owner=OWNER, query="q", expected=("a", "b"), created_at=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with article_world(database_url) as found:
        yield found


def text_about(subject: str) -> str:
    return "\n\n".join(f"The {subject} of house {number} was made by hand. " * 6 for number in range(4))


async def fill(world: World) -> None:
    for subject in SUBJECTS:
        await world.share(f"About the {subject}", text_about(subject))
    await world.drain()


async def second_generation(world: World) -> Generation:
    made = await building.build(world.search, name="finer", embedder="builtin", chunk_characters=300, by=OWNER)
    await drain(world.app, advance=True, only=[PIPELINE, BUILD])
    return made


# ---------------------------------------------------------------- what is compared


def test_what_both_find_what_moves_and_what_only_one_finds_are_told() -> None:
    found = comparing.compared(
        QUERY, Answered(slugs=("a", "x", "y", "b"), took_ms=3.0), Answered(slugs=("x", "a", "z"), took_ms=5.0)
    )
    assert found.overlap == 0.5
    assert found.moved == (MovedArticle(slug="a", place_a=1, place_b=2), MovedArticle(slug="x", place_a=2, place_b=1))
    assert (found.only_in_a, found.only_in_b) == (("y", "b"), ("z",))
    assert (found.expected_found_a, found.expected_found_b) == (2, 1)
    assert (found.ms_a, found.ms_b) == (3.0, 5.0)


def test_two_empty_answers_are_the_same_answer() -> None:
    nothing = Answered(slugs=(), took_ms=1.0)
    assert comparing.compared(QUERY, nothing, nothing).overlap == 1.0


def test_ndcg_is_one_for_the_best_order_and_falls_with_the_place() -> None:
    assert comparing.ndcg(("a", "b", "x"), ("b", "a")) == 1.0
    assert comparing.ndcg(("x", "a"), ("a",)) == pytest.approx(0.6309, abs=1e-4)
    assert comparing.ndcg(("x", "y"), ("a",)) == 0.0
    assert comparing.ndcg(("x",), ()) is None
    assert comparing.ndcg((*"xxxxxxxxxx", "a"), ("a",)) == 0.0, "beyond the tenth place"


def test_totals_are_means_over_the_queries_that_have_a_figure() -> None:
    first = comparing.compared(QUERY, Answered(slugs=("a", "b"), took_ms=1.0), Answered(slugs=("b", "a"), took_ms=2.0))
    nothing_expected = replace(QUERY, expected=())
    second = comparing.compared(
        nothing_expected, Answered(slugs=("x",), took_ms=3.0), Answered(slugs=("y",), took_ms=4.0)
    )
    whole = comparing.totals([first, second])
    assert (whole.queries, whole.overlap, whole.ndcg_a, whole.ndcg_b) == (2, 0.5, 1.0, 1.0)
    assert (whole.expected, whole.expected_found_a, whole.ms_a, whole.ms_b) == (2, 2, 2.0, 3.0)
    assert comparing.totals([]).overlap is None


async def test_two_generations_are_compared_on_the_saved_queries(world: World) -> None:
    await fill(world)
    made = await second_generation(world)
    async with world.app.connection() as connection:
        await comparing.save_query(connection, owner=OWNER, query="a pump", expected=["about-the-pump"])
        await comparing.save_query(connection, owner="eve", query="the clock of the house")
    seen: list[tuple[int, int]] = []
    found = await comparing.compare(world.search, 1, made, limit=3, told=lambda done, total: seen.append((done, total)))
    assert (found.a.id, found.b.id, found.totals.queries) == (1, made.id, 2)
    assert [one.query for one in found.queries] == ["a pump", "the clock of the house"]
    assert (found.totals.expected_found_a, found.totals.expected_found_b) == (1, 1)
    assert (found.totals.ndcg_a, found.totals.ndcg_b) == (1.0, 1.0)
    assert all(one.notice is None and one.ms_a > 0 and one.ms_b > 0 for one in found.queries)
    assert seen == [(1, 2), (2, 2)]


async def test_comparisons_that_make_no_sense_are_refused(world: World) -> None:
    made = await second_generation(world)
    with pytest.raises(UsageError, match="Both are generation 'first'"):
        await comparing.compare(world.search, 1, 1)
    with pytest.raises(NotKnown, match="no generation '9'"):
        await comparing.compare(world.search, 1, 9)
    with pytest.raises(UsageError, match="limit = 0"):
        await comparing.compare(world.search, 1, made, limit=0)
    await building.drop(world.search, made.id, by=OWNER)
    with pytest.raises(IllegalMove, match="dropped"):
        await comparing.compare(world.search, 1, made)


# ---------------------------------------------------------------- saved queries


async def test_a_query_saved_again_changes_what_is_expected_of_it(world: World) -> None:
    async with world.app.connection() as connection:
        first = await comparing.save_query(connection, owner=OWNER, query=" a pump ", expected=["x", "x"])
        again = await comparing.save_query(connection, owner=OWNER, query="a pump", expected=["y"])
        assert (first.query, first.expected, again.id, again.expected) == ("a pump", ("x",), first.id, ("y",))
        assert not await comparing.forget_query(connection, first.id, owner="eve")
        assert await comparing.forget_query(connection, first.id, owner=OWNER)
        assert await comparing.saved_queries(connection) == []


def test_lines_of_a_file_become_queries_once_each() -> None:
    read = comparing.read_lines("\ufeff# remark\n\na pump\tabout-the-pump, other\n a lamp \na lamp\n")
    assert [(one.query, one.expected) for one in read] == [("a pump", ("about-the-pump", "other")), ("a lamp", ())]


def test_queries_that_cannot_be_kept_are_refused_with_their_line() -> None:
    with pytest.raises(UsageError, match=r"Line 2: The query has 1,001 characters"):
        comparing.read_lines("fine\n" + "x" * 1001)
    with pytest.raises(UsageError, match=r"Line 1: .*cannot be stored"):
        comparing.read_lines("a\0b")
    with pytest.raises(UsageError, match="more than 1,000 queries"):
        comparing.read_lines("\n".join(str(number) for number in range(1001)))


async def test_the_command_line_imports_queries_and_moves_generations(database_url: str, tmp_path: Path) -> None:
    penstock = CommandLine(database_url)
    async with article_world(database_url) as world:
        await fill(world)
        lines = tmp_path / "queries.txt"
        lines.write_text("a pump\tabout-the-pump\na lamp\n", "utf-8")
        for expected in ({"added": 2, "already_there": 0}, {"added": 0, "already_there": 2}):
            assert await penstock.json("articles", "queries", "import", lines) == expected
        added = await penstock.json("articles", "queries", "add", "an oven", "--expect", "about-the-oven")
        await penstock("articles", "queries", "remove", added["id"])
        assert [one["query"] for one in await penstock.json("articles", "queries", "list")] == ["a pump", "a lamp"]
        async with worker(world.app, only=[PIPELINE, BUILD]):
            made = await penstock.json("articles", "generations", "build", "finer", "--chunk-characters", 300, "--wait")
        assert (made["state"], made["chunker"]) == ("ready", "structure/1 300+100")
        compared = await penstock.json("articles", "generations", "compare", "finer")
        assert compared["totals"]["ndcg_b"] == 1.0
        assert "overlap" in (await penstock("articles", "generations", "compare", "finer")).stderr
        assert (await penstock.json("articles", "generations", "switch", "finer"))["state"] == "active"
        assert (await penstock.json("articles", "generations", "roll-back"))["name"] == "first"
        assert (await penstock.json("articles", "generations", "drop", made["id"], "--yes"))["state"] == "dropped"
        states = {one["name"]: one["state"] for one in await penstock.json("articles", "generations", "list")}
    assert states == {"first": "active", "finer": "dropped"}


# ---------------------------------------------------------------- searches all the time


class Searching:
    """Several people who search without a pause. ``problems``: what no search may do."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.problems: list[str] = []
        self.answers: Counter[str] = Counter()
        self._stop = asyncio.Event()

    async def run(self, number: int) -> None:
        turn = number
        while not self._stop.is_set():
            subject = SUBJECTS[turn % len(SUBJECTS)]
            turn += 1
            mode: Any = ("hybrid", "semantic")[turn % 2]
            try:
                question = Question(text=f"the {subject}", mode=mode, viewer=None, limit=5)
                answer = await search(self._world.search, question)
            except Exception as error:
                self.problems.append(f"{type(error).__name__}: {error}")
                continue
            self.answers[answer.coverage.generation] += 1
            if answer.mode != mode or answer.notice is not None:
                self.problems.append(f"{answer.mode} instead of {mode}: {answer.notice}")
            if not answer.hits or answer.hits[0].title != f"About the {subject}":
                self.problems.append(f"{subject}: {[hit.title for hit in answer.hits]}")

    async def while_doing(self, work: Callable[[], Awaitable[None]], *, people: int = 4) -> None:
        running = [asyncio.create_task(self.run(number)) for number in range(people)]
        try:
            await work()
        finally:
            self._stop.set()
            await asyncio.gather(*running)

    async def go_on(self, generation: str, more: int = 20, seconds: float = 60.0) -> None:
        """Until so many more searches were answered by it."""
        wanted = self.answers[generation] + more
        await until(lambda: self.answers[generation] >= wanted, seconds)


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        await asyncio.sleep(0.01)


async def state_of(world: World, generation_id: int) -> GenerationState:
    async with world.app.connection() as connection:
        found = await generations.get(connection, generation_id)
    assert found is not None
    return found.state


async def removed(world: World, generation_id: int) -> None:
    """Until its table is gone."""
    end = time.monotonic() + 60
    while await world.value("select to_regclass($1)::text", f"article_search.vectors_{generation_id}") is not None:
        assert time.monotonic() < end, "the table is still there"
        await asyncio.sleep(0.05)


async def test_no_search_fails_or_is_empty_while_generations_are_built_switched_and_dropped(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ann, "WORTH_CHUNKS", 20)
    # No grace at all: the search itself has to cope with a table that goes under its hands.
    monkeypatch.setattr(building, "_DROP_GRACE_SECONDS", -60.0)
    async with article_world(database_url) as world:
        await fill(world)
        async with world.app.connection() as connection:
            await comparing.save_query(connection, owner=OWNER, query="a pump", expected=["about-the-pump"])
        searching = Searching(world)

        async def ready(name: str) -> Generation:
            made = await building.build(world.search, name=name, embedder="builtin", chunk_characters=300, by=OWNER)
            while await state_of(world, made.id) is GenerationState.BUILDING:
                await asyncio.sleep(0.02)
            return made

        async def all_moves() -> None:
            second = await ready("second")
            await comparing.compare(world.search, 1, second)
            await building.switch(world.search, second.id, by=OWNER)
            await searching.go_on("second")
            await building.roll_back(world.search, by=OWNER)
            await searching.go_on("first")
            await building.switch(world.search, second.id, by=OWNER)
            third = await ready("third")
            # From the one in use straight to its removal.
            await building.switch(world.search, third.id, by=OWNER)
            await building.drop(world.search, second.id, by=OWNER)
            await building.drop(world.search, 1, by=OWNER)
            await removed(world, second.id)
            await removed(world, 1)
            await searching.go_on("third")

        async with worker(world.app, only=[PIPELINE, BUILD]):
            await searching.while_doing(all_moves)
        assert searching.problems == []
        assert set(searching.answers) == {"first", "second", "third"}
