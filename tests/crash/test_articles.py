"""Article search whose workers are killed all the time: properties 4 and 5 with real processes."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.config import load
from penstock.extensions.articles import writing
from penstock.extensions.articles.articles import NewArticle
from penstock.extensions.articles.shared import ArticleSearch
from penstock.extensions.articles.writing import Change
from penstock.testing import ledger_table
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from tests.crash import articles_app
from tests.crash.conftest import QUICK_LEASE, ROOT
from tests.sizes import size
from tests.warm import warm_starts

OWNER = "ada"
_CASES = size("ARTICLE_CASES", small=20, whole=100)
_WAIT_SECONDS = 60.0
_WAITING = (
    "select a.id from article_search.articles a left join article_search.indexed i on i.article_id = a.id"
    " and i.generation = 1 where i.revision is distinct from a.revision"
)


@dataclass(repr=False)
class Fleet:
    """A supervisor with two runners, one of which dies whenever a case says so; the other goes on meanwhile."""

    runner: asyncio.Runner
    search: ArticleSearch
    connection: asyncpg.Connection
    start: Callable[[], WorkerTree]
    trees: list[WorkerTree] = field(default_factory=list)
    deaths: dict[int, float] = field(default_factory=dict)
    kills: int = 0

    def kill(self, whole: bool) -> None:
        """A runner, or everything: a machine that loses power, with another one in its place."""
        victim = self.trees[0]
        pids = [one.pid for one in victim.runners()]
        # Before the signal: on a busy machine others have begun by the time that we have seen the death.
        now = time.time()
        if whole:
            victim.kill()
            self.deaths = dict.fromkeys(pids, now) | self.deaths  # one that died before may still be listed
            self.trees[0] = self.start()
        elif (pid := victim.kill_runner()) is not None:
            self.deaths.setdefault(pid, now)
        self.kills += 1


@pytest.fixture
def fleet(database_url: str, tmp_path: Path, ledger: Ledger) -> Iterator[Fleet]:
    started: list[WorkerTree] = []

    def start() -> WorkerTree:
        environment = {
            **QUICK_LEASE,
            **ledger.environment,
            "PENSTOCK_RUNNERS": "2",
            "PENSTOCK_ARTICLES_BACKOFF_SECONDS": "0.05",
            # A machine that is killed all the time is no fault of the articles it works on.
            "PENSTOCK_CRASH_LIMIT": "100",
            "PENSTOCK_ARTICLES_MAX_RETRIES": "100",
        }
        tree = WorkerTree(
            "tests.crash.articles_app:app",
            url=database_url,
            log=tmp_path / f"worker-{len(started)}.log",
            environment=environment,
            path=[str(ROOT)],
            start=warm_starts().start,
        )
        started.append(tree)
        return tree

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        app = articles_app.app

        async def opened() -> asyncpg.Connection:
            connection = await asyncpg.connect(database_url)
            stack.push_async_callback(connection.close)
            await ledger_table.create(connection)
            app.use(load(database_url=database_url, articles_max_retries=100), app.events)
            await stack.enter_async_context(app)
            return connection

        found = Fleet(runner, articles_app.search, runner.run(opened()), start)
        found.trees = [start()]
        found.trees[0].wait_ready()
        yield found
        runner.run(stack.aclose())
    for tree in started:
        tree.close()


@pytest.mark.article_property(4)
@pytest.mark.article_property(5)
@pytest.mark.timeout(900)
def test_embeddings_survive_killed_workers_and_never_run_at_one_time(fleet: Fleet, ledger: Ledger) -> None:
    """In each case articles are saved and edited, and a runner or the whole worker is killed at some moment. In the
    end every article is indexed as it is now, and no two embeddings ever ran at one time."""

    @settings(
        max_examples=_CASES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(
        saves=st.integers(1, 4),
        edits=st.integers(0, 2),
        delay_ms=st.integers(0, 40),
        death=st.sampled_from(["none", "none", "runner", "runner", "runner", "machine"]),
    )
    def case(saves: int, edits: int, delay_ms: int, death: str) -> None:
        fleet.runner.run(_case(fleet, saves, edits, delay_ms, death))

    case()
    print(f"{_CASES} cases, {fleet.kills} kills")
    assert fleet.kills >= _CASES // 5
    _check_one_at_a_time(ledger, fleet.deaths)
    assert fleet.runner.run(ledger_table.miscounted(fleet.connection)) == 0


async def _case(fleet: Fleet, saves: int, edits: int, delay_ms: int, death: str) -> None:
    saved = [
        await writing.create(
            fleet.search,
            NewArticle(title=f"Article {number}", content="A text about water. " * 20, owner=OWNER, author=OWNER),
        )
        for number in range(saves)
    ]
    for number in range(edits):
        slug = saved[number % saves].article.slug
        await writing.update(fleet.search, slug, Change(content=f"Edit {number}"), by=OWNER)
    await asyncio.sleep(delay_ms / 1000)
    if death != "none":
        fleet.kill(death == "machine")
    await _all_indexed(fleet)


async def _all_indexed(fleet: Fleet) -> None:
    end = time.monotonic() + _WAIT_SECONDS
    while left := await fleet.connection.fetch(_WAITING):
        assert time.monotonic() < end, f"{len(left)} articles are not indexed\n{fleet.trees[0].tail()}"
        await asyncio.sleep(0.01)


def _check_one_at_a_time(ledger: Ledger, deaths: dict[int, float]) -> None:
    entries = ledger.files()
    ends = {(one.task_id, one.lease): one.at for one in entries if one.kind == "end"}
    runs = sorted(
        (one.at, ends.get((one.task_id, one.lease), deaths.get(one.pid, float("inf"))), one.task_id)
        for one in entries
        if one.kind == "start"
    )
    assert len(runs) > _CASES
    for (_, ended, first), (began, _, second) in pairwise(runs):
        assert ended <= began, f"task {second} began {ended - began:.3f} s before task {first} had ended"
