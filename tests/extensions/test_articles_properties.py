"""The twelve properties of article search, each over generated cases on a real PostgreSQL.

Twenty cases each in `make test`, a hundred in `make test-all`.

``pytest -m article_property`` runs them alone. Property 4 and 5 with killed worker processes are in
tests/crash/test_articles.py.
"""

import asyncio
import io
import json
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import worker
from penstock.extensions.articles import embedding_tasks, reindexing, statistics, upkeep
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.reindexing import Plan
from penstock.extensions.articles.searching import Question, search
from penstock.observe.logs import log_subscriber
from tests.extensions.article_world import OWNER, World, article_world
from tests.sizes import size

pytestmark = pytest.mark.timeout(900)
Value = TypeVar("Value")
generated = settings(
    max_examples=size("ARTICLE_CASES", small=20, whole=100),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WAIT_SECONDS = 90.0

texts = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
titles = texts.filter(lambda text: bool(text.strip()))
words = st.text(alphabet="abcdefghijklmnop", min_size=4, max_size=9)
priorities = st.sampled_from(["high", "normal", "low"])
errors = st.sampled_from(
    [EmbedderBusy("away"), EmbedderMisconfigured("no key"), TextRefused("odd"), MemoryError("full"), ValueError("?")]
)


class Stage:
    """A world and the loop it lives on: Hypothesis calls plain functions. Not a dataclass: Hypothesis would print the
    whole world with a case that fails."""

    def __init__(self, runner: asyncio.Runner, world: World) -> None:
        self.runner = runner
        self.world = world

    def run(self, coroutine: Coroutine[Any, Any, Value]) -> Value:
        return self.runner.run(coroutine)


def _stage(database_url: str, **chosen: Any) -> Iterator[Stage]:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        world = runner.run(stack.enter_async_context(article_world(database_url, **chosen)))
        yield Stage(runner, world)
        runner.run(stack.aclose())


@pytest.fixture
def stage(database_url: str) -> Iterator[Stage]:
    yield from _stage(database_url)


def article_property(number: int) -> pytest.MarkDecorator:
    return pytest.mark.article_property(number)


# ---------------------------------------------------------------- 1


@article_property(1)
@generated
@given(title=titles, content=texts, priority=priorities, fault=st.sampled_from([None, "enqueue", "revision"]))
def test_property_1_an_article_is_persisted_before_its_task_is_queued(
    stage: Stage, title: str, content: str, priority: str, fault: str | None
) -> None:
    """In one transaction and in that order: whatever fails, there is never a task without its article."""
    world = stage.world

    async def case() -> None:
        before = await world.value("select max(id) from article_search.articles") or 0
        with pytest.MonkeyPatch.context() as patch:
            if fault == "enqueue":
                patch.setattr(world.app, "store", _broken)
            if fault == "revision":
                patch.setattr("penstock.extensions.articles.articles.append_revision", _broken)
            if fault is None:
                await world.save(title, content, priority=priority)
            else:
                with pytest.raises(ZeroDivisionError):
                    await world.save(title, content, priority=priority)
        rows = await world.fetch(
            "select a.xmin = t.xmin as together, r.revision from penstock.tasks t"
            " left join article_search.articles a on a.id = (t.input ->> 'article')::bigint"
            " left join article_search.revisions r on r.article_id = a.id and r.task_id = t.id"
            " where (t.input ->> 'article')::bigint > $1",
            before,
        )
        assert [(row["together"], row["revision"]) for row in rows] == ([(True, 1)] if fault is None else [])

    stage.run(case())


async def _broken(*args: Any, **kwargs: Any) -> None:
    raise ZeroDivisionError


# ---------------------------------------------------------------- 2


@article_property(2)
@generated
@given(title=titles, content=texts, edits=st.lists(texts, max_size=3), deleted=st.booleans())
def test_property_2_a_save_is_answered_without_waiting_for_the_embedding(
    stage: Stage, title: str, content: str, edits: list[str], deleted: bool
) -> None:
    """While a worker holds an embedding that does not end, every operation comes back."""
    world = stage.world

    async def case() -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        async def held(_: list[str]) -> None:
            begun.set()
            await go.wait()

        world.switch.before = held
        async with worker(world.app, only=[PIPELINE]):
            try:
                blocker = await world.save("blocker", content)
                await asyncio.wait_for(begun.wait(), WAIT_SECONDS)
                saved = await asyncio.wait_for(world.save(title, content), WAIT_SECONDS)
                for text in edits:
                    await asyncio.wait_for(world.edit(saved.article.slug, content=text), WAIT_SECONDS)
                await asyncio.wait_for(world.edit(blocker.article.slug, content=content + "!"), WAIT_SECONDS)
                if deleted:
                    await asyncio.wait_for(world.delete(saved.article.slug), WAIT_SECONDS)
                assert world.switch.at_once == 1 and not go.is_set()
            finally:
                world.switch.before = None
                go.set()

    stage.run(case())


# ---------------------------------------------------------------- 3


@article_property(3)
@generated
@given(title=titles, content=texts, error=errors, edited=st.booleans())
def test_property_3_a_failed_embedding_never_touches_the_article(
    stage: Stage, title: str, content: str, error: Exception, edited: bool
) -> None:
    world = stage.world

    async def case() -> None:
        saved = await world.save(title, content)
        if edited:
            await world.drain()
            saved = await world.edit(saved.article.slug, content=content + " and more")
        before = await _everything(world, saved.article.id)
        world.switch.error = error
        try:
            assert (await world.drain()).failed == 1
        finally:
            world.switch.error = None
        assert await _everything(world, saved.article.id) == before
        assert await world.article(saved.article.slug) == saved.article

    stage.run(case())


async def _everything(world: World, article_id: int) -> list[dict[str, Any]]:
    queries = (
        "select *, xmin::text from article_search.articles where id = $1",
        "select *, xmin::text from article_search.revisions where article_id = $1 order by revision",
        "select *, xmin::text from article_search.vectors_1 where article_id = $1 order by ordinal",
    )
    return [dict(row) for query in queries for row in await world.fetch(query, article_id)]


# ---------------------------------------------------------------- 4


@article_property(4)
@generated
@given(counts=st.lists(st.integers(1, 3), min_size=1, max_size=3), runs=st.integers(0, 3))
def test_property_4_tasks_survive_restarts(database_url: str, stage: Stage, counts: list[int], runs: int) -> None:
    """Applications come and go between saves, and stop in the middle of an embedding; nothing is forgotten. Killed
    processes are in tests/crash/test_articles.py."""
    world = stage.world

    async def case() -> None:
        ids: list[int] = []
        for count in counts:
            async with article_world(database_url) as other:
                ids += [(await other.save(f"Article {number}", f"text {number}")).article.id for number in range(count)]
                await _interrupted_after(other, runs)
        await world.drain()
        found = await world.fetch("select article_id from article_search.indexed where article_id = any ($1)", ids)
        assert {row["article_id"] for row in found} == set(ids)

    stage.run(case())


async def _interrupted_after(world: World, runs: int) -> None:
    """So many embeddings come to their end; whoever makes the next one is stopped."""
    reached, left = asyncio.Event(), runs

    async def stopped(_: list[str]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            reached.set()
            await asyncio.Event().wait()

    world.switch.before = stopped
    draining = asyncio.create_task(world.drain())
    waiting = asyncio.create_task(reached.wait())
    await asyncio.wait([draining, waiting], return_when=asyncio.FIRST_COMPLETED)
    for task in (draining, waiting):
        task.cancel()
    await asyncio.gather(draining, waiting, return_exceptions=True)


# ---------------------------------------------------------------- 5


@article_property(5)
@generated
@given(saves=st.lists(st.tuples(words, priorities), min_size=2, max_size=6))
def test_property_5_one_embedding_at_a_time(database_url: str, fleet: "Fleet", saves: list[tuple[str, str]]) -> None:
    """Three workers, each an application of its own, never embed at one time."""

    async def case() -> None:
        world = fleet.worlds[0]
        saved = [await world.save(word, word, priority=priority) for word, priority in saves]
        await _embedded(world, [one.article.id for one in saved])
        assert fleet.most == 1

    fleet.runner.run(case())


class Fleet:
    """Three worlds on one database."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.worlds: list[World] = []
        self.now = self.most = 0

    async def embedding(self, _: list[str]) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1


@pytest.fixture
def fleet(database_url: str) -> Iterator[Fleet]:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        found = Fleet(runner)

        async def start() -> None:
            for _ in range(3):
                world = await stack.enter_async_context(article_world(database_url))
                world.switch.before = found.embedding
                await stack.enter_async_context(worker(world.app, only=[PIPELINE]))
                found.worlds.append(world)

        runner.run(start())
        yield found
        runner.run(stack.aclose())


async def _embedded(world: World, ids: list[int]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    query = "select count(*) from article_search.indexed where article_id = any ($1)"
    while await world.value(query, ids) < len(ids):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


# ---------------------------------------------------------------- 6


@article_property(6)
@generated
@given(failures=st.integers(0, 6), word=words)
def test_property_6_retries_come_after_growing_delays_three_times_at_most(
    stage: Stage, failures: int, word: str
) -> None:
    world = stage.world

    async def case() -> None:
        world.switch.calls = 0
        world.switch.before = _failing(failures)
        saved = await world.save(word, word)
        drained = await world.drain()
        assert (drained.done, drained.failed) == ((1, 0) if failures <= 3 else (0, 1))
        assert world.switch.calls == min(failures, 3) + 1
        rows = await world.fetch(
            "select extract(epoch from next_run_at - at)::float8 as delay from penstock.attempts"
            " where task_id = $1 and cause = 'retry' order by at, attempt",
            saved.tasks[0],
        )
        delays = [row["delay"] for row in rows]
        assert [round(delay, 3) >= least for delay, least in zip(delays, (1, 2, 4), strict=False)] == [True] * len(
            delays
        )
        assert all(delay <= least * 1.1 + 0.01 for delay, least in zip(delays, (1, 2, 4), strict=False))
        assert len(delays) == min(failures, 3) and all(one < other for one, other in pairwise(delays))

    stage.run(case())


def _failing(times: int) -> Any:
    left = times

    async def failing(_: list[str]) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise EmbedderBusy("away")

    return failing


# ---------------------------------------------------------------- 7


@article_property(7)
@generated
@given(word=words, priority=priorities, error=st.one_of(st.none(), errors))
def test_property_7_the_status_is_recorded_at_each_step(
    stage: Stage, word: str, priority: str, error: Exception | None
) -> None:
    world = stage.world

    async def case() -> None:
        async def status() -> embedding_tasks.EmbeddingTask:
            async with world.app.connection() as connection:
                found = await embedding_tasks.one(connection, saved.tasks[0])
            assert found is not None
            return found

        saved = await world.save(word, word, priority=priority)
        seen = [await status()]

        async def looked(_: list[str]) -> None:
            seen.append(await status())
            if error is not None:
                raise error

        world.switch.before = looked
        await world.drain()
        world.switch.before = None
        seen.append(await status())
        assert [str(one.status) for one in seen[:2]] == ["pending", "processing"]
        assert str(seen[-1].status) == ("completed" if error is None else "failed")
        assert {one.priority for one in seen} == {priority} and {str(one.operation) for one in seen} == {"create"}
        assert [one.attempts for one in seen[1:-1]] == list(range(len(seen) - 2))
        assert all(str(one.status) == "processing" and one.started_at is not None for one in seen[1:-1])
        last = seen[-1]
        assert last.ended_at is not None and last.created_at <= seen[1].started_at <= last.ended_at
        assert (last.error is None) == (error is None) == (last.category is None)

    stage.run(case())


# ---------------------------------------------------------------- 8


@article_property(8)
@generated
@given(
    kinds=st.lists(st.sampled_from(["indexed", "stale", "missing", "failed"]), min_size=1, max_size=5),
    scope=st.sampled_from(["all", "missing", "stale", "failed"]),
)
def test_property_8_a_bulk_re_index_queues_every_article_that_needs_it(
    stage: Stage, kinds: list[str], scope: str
) -> None:
    world = stage.world

    async def case() -> None:
        made = await _articles(world, kinds)
        job = await reindexing.start(world.search, Plan(scope=scope, author=OWNER), by="tests")  # type: ignore[arg-type]
        needing = {
            "all": {"indexed", "stale", "missing", "failed"},
            "missing": {"missing", "failed"},
            "stale": {"stale"},
            "failed": {"failed"},
        }[scope]
        expected = {article for kind, article in made if kind in needing}
        rows = await world.fetch(
            "select (input ->> 'article')::bigint as id from penstock.tasks where job_id = $1", job
        )
        assert sorted(row["id"] for row in rows) == sorted(expected)
        assert (job is None) == (not expected)
        await world.drain()
        for _, article in made:
            await world.value("delete from article_search.articles where id = $1", article)

    stage.run(case())


async def _articles(world: World, kinds: list[str]) -> list[tuple[str, int]]:
    """kind → id, one article of each."""
    saved = [await world.save(kind, f"about {kind}", skip_embedding=kind == "missing") for kind in kinds]
    world.switch.error, world.switch.marker = TextRefused("odd"), "about failed"
    await world.drain()
    world.switch.error = world.switch.marker = None
    for kind, one in zip(kinds, saved, strict=True):
        if kind == "stale":
            await world.edit(one.article.slug, content="another text", skip_embedding=True)
    return [(kind, one.article.id) for kind, one in zip(kinds, saved, strict=True)]


# ---------------------------------------------------------------- 9


@article_property(9)
@generated
@given(word=words, mode=st.sampled_from(["hybrid", "semantic", "keyword"]), pending=st.integers(1, 4))
def test_property_9_a_search_never_waits_for_pending_work(stage: Stage, word: str, mode: str, pending: int) -> None:
    """With embeddings that wait and one that hangs, a search answers, and says what is not indexed."""
    world = stage.world

    async def case() -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        async def held(_: list[str]) -> None:
            begun.set()
            await go.wait()

        world.switch.before = held
        async with worker(world.app, only=[PIPELINE]):
            try:
                saved = [await world.save(f"{word} zq{number}", word) for number in range(pending)]
                await asyncio.wait_for(begun.wait(), WAIT_SECONDS)
                question = Question(text=word, mode=mode, viewer=OWNER, limit=50)  # type: ignore[arg-type]
                answer = await asyncio.wait_for(search(world.search, question), WAIT_SECONDS)
                assert not go.is_set() and answer.coverage.pending >= pending
                if mode != "semantic":
                    chips = {hit.slug: hit.chip for hit in answer.hits}
                    assert {chips.get(one.article.slug) for one in saved} == {"waiting"}
            finally:
                world.switch.before = None
                go.set()
                for one in saved:
                    await world.delete(one.article.slug)

    stage.run(case())


# ---------------------------------------------------------------- 10


@article_property(10)
@generated
@given(word=words, other=words, edited=st.booleans())
def test_property_10_a_completed_embedding_is_found_by_the_next_search(
    stage: Stage, word: str, other: str, edited: bool
) -> None:
    world = stage.world

    async def case() -> None:
        text = f"{word} {other}"
        saved = await world.save("Title", text if not edited else "something else")
        await world.drain()
        if edited:
            saved = await world.edit(saved.article.slug, content=text)
            await world.drain()
        # The newest of equals: earlier cases may have had the same words.
        question = Question(text=f"Title {text}", mode="semantic", viewer=OWNER, limit=50)
        answer = await search(world.search, question)
        (hit,) = [hit for hit in answer.hits if hit.slug == saved.article.slug]
        assert (hit.chip, hit.stale, answer.mode) == ("indexed", False, "semantic")
        best = answer.hits[0]
        assert hit.score.semantic.similarity == pytest.approx(best.score.semantic.similarity, abs=1e-5)
        await world.delete(saved.article.slug)
        gone = await search(world.search, question)
        assert saved.article.slug not in {hit.slug for hit in gone.hits}

    stage.run(case())


# ---------------------------------------------------------------- 11


@article_property(11)
@generated
@given(steps=st.lists(st.sampled_from(["edit", "drain", "fail", "delete"]), max_size=5), word=words)
def test_property_11_every_operation_leaves_a_log_entry_with_its_time(
    stage: Stage, steps: list[str], word: str
) -> None:
    """The lines as they are written, read back."""
    world = stage.world

    async def case() -> None:
        await world.drain()
        before = time.time()
        written, kept = io.StringIO(), sys.stderr
        sys.stderr = written
        subscriber = log_subscriber(world.app.settings.model_copy(update={"log_format": "json"}), {})
        world.app.events.add(subscriber)
        try:
            expected = await _steps(world, word, steps)
        finally:
            sys.stderr = kept
            world.app.events.remove(subscriber)
        entries = [json.loads(line) for line in written.getvalue().splitlines()]
        mine = [entry for entry in entries if entry["event"].startswith("articles.")]
        assert [entry["event"] for entry in mine] == expected
        for entry in mine:
            stamp = time.mktime(time.strptime(entry["timestamp"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
            assert before - 2 <= stamp <= time.time() + 2
            assert entry["article"] and entry["level"] in ("info", "warning")

    stage.run(case())


async def _steps(world: World, word: str, steps: list[str]) -> list[str]:
    """Carries them out, and tells which lines they should leave."""
    saved = await world.save(word, "0")
    expected, revision, there = ["articles.saved"], 0, True
    # What waits: one entry per task, True where it is the newest of a text.
    waiting = ["save"]
    for step in steps:
        if step == "edit" and there:
            revision += 1
            await world.edit(saved.article.slug, content=str(revision))
            expected.append("articles.saved")
            waiting.append("save")
        elif step == "delete" and there:
            there = False
            await world.delete(saved.article.slug)
            expected.append("articles.deleted")
            waiting.append("delete")
        elif step in ("drain", "fail"):
            world.switch.error = TextRefused("odd") if step == "fail" else None
            await world.drain()
            world.switch.error = None
            newest = len(waiting) - 1
            for number, kind in enumerate(waiting):
                if kind == "delete":
                    expected.append("articles.embedded")
                elif not there or number != newest:
                    expected.append("articles.skipped")
                else:
                    expected.append("articles.failed" if step == "fail" else "articles.embedded")
            waiting = []
    return expected


# ---------------------------------------------------------------- 12


@article_property(12)
@generated
@given(
    steps=st.lists(
        st.sampled_from(["save", "edit", "drain", "fail", "some", "cancel", "retry", "clear"]), min_size=1, max_size=7
    )
)
def test_property_12_the_statistics_are_exact(stage: Stage, steps: list[str]) -> None:
    """After each step they are what a plain count of the tables gives."""
    world = stage.world

    async def case() -> None:
        slug = (await world.save("Statistics", "0")).article.slug
        for number, step in enumerate(steps):
            match step:
                case "save":
                    slug = (await world.save("Statistics", str(number))).article.slug
                case "edit":
                    await world.edit(slug, content=f"{number} {time.monotonic_ns()}")
                case "drain":
                    await world.drain()
                case "fail":
                    world.switch.error = TextRefused("odd")
                    await world.drain()
                    world.switch.error = None
                case "some":
                    world.switch.before = _failing(1)
                    await world.drain(advance=False)
                    world.switch.before = None
                case "cancel":
                    newest = await world.value("select max(task_id) from penstock.queue where worker is null")
                    if newest is not None:
                        await world.app.task_by_id(newest).cancel()
                case "retry":
                    await upkeep.retry_failed(world.app, by="tests")
                case "clear":
                    await upkeep.clear_completed(world.app, 0, by="tests")
            found = (await statistics.statistics(world.app)).queue
            assert await _counted(world) == {
                "pending": found.pending,
                "processing": found.processing,
                "completed": found.completed,
                "failed": found.failed,
                "cancelled": found.cancelled,
            }

    stage.run(case())


async def _counted(world: World) -> dict[str, int]:
    names = {"PENDING": "pending", "PROCESSING": "processing", "ERROR": "failed", "CANCELLED": "cancelled"}
    counts = dict.fromkeys(("pending", "processing", "completed", "failed", "cancelled"), 0)
    query = "select state, count(*) as n from penstock.task_states where pipeline = 'articles' group by state"
    for row in await world.fetch(query):
        counts[names.get(row["state"], "completed")] += row["n"]
    return counts
