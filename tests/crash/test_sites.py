"""The website analysis under kills and beside sites that hang. `make test-all`: 200 sites."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest

from penstock import EnqueueOptions, Penstock
from penstock.apps.website_analysis.names import ASKING, FORMING, READING
from penstock.config import load
from penstock.storage import ledger as ledger_table
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from tests.crash import sites_app
from tests.crash.conftest import QUICK_LEASE, ROOT
from tests.crash.sites_server import Sites, serving
from tests.sizes import size

_SITES = size("SITES", small=16, whole=200)
_KILL_EVERY_SECONDS = 6.0  # each of the two workers
_STAGES = (READING, FORMING, ASKING)
_CHECKPOINTS = (
    "select c.task_id, s.name, extract(epoch from c.at)::double precision as at from penstock.checkpoints c"
    " join penstock.stages s on s.id = c.stage"
    " union all select o.task_id, s.name, extract(epoch from o.finished_at) from penstock.outcomes o"
    " join penstock.stages s on s.id = o.stage where o.status = 2"
)


@pytest.fixture
def sites() -> Iterator[Sites]:
    with serving() as found:
        yield found


@pytest.fixture
async def app(database_url: str, connection: asyncpg.Connection) -> AsyncIterator[Penstock]:
    await ledger_table.create(connection)
    app = sites_app.app
    app.use(load(database_url=database_url), app.events)
    await app.open()
    yield app
    await app.close()


Start = Callable[..., WorkerTree]


@pytest.fixture
def start(database_url: str, tmp_path: Path, ledger: Ledger) -> Iterator[Start]:
    trees: list[WorkerTree] = []

    def start(hosts: list[str], **settings: str) -> WorkerTree:
        environment = {
            **QUICK_LEASE,
            **ledger.environment,
            "PENSTOCK_SITES_ALLOWED_HOSTS": ",".join(hosts),
            "PENSTOCK_SITES_PER_SECOND": "1000",
            "PENSTOCK_SITES_PAGES": "2",
            "PENSTOCK_SITES_PROMPTS": "5",
            # A machine that is killed every few seconds is no fault of the sites it works on. By default one that is
            # hit three times in one stage would be a dead letter, as nobody can tell it from poison.
            "PENSTOCK_CRASH_LIMIT": "20",
            "PENSTOCK_MAX_ATTEMPTS_ERROR": "20",
            **{f"PENSTOCK_{name.upper()}": value for name, value in settings.items()},
        }
        tree = WorkerTree(
            "tests.crash.sites_app:app",
            url=database_url,
            log=tmp_path / f"worker-{len(trees)}.log",
            environment=environment,
            path=[str(ROOT)],
        )
        trees.append(tree)
        return tree

    yield start
    for tree in trees:
        tree.close()


@pytest.mark.timeout(600)
async def test_every_site_is_analysed_once_although_its_workers_are_killed_every_few_seconds(
    app: Penstock, sites: Sites, start: Start, connection: asyncpg.Connection, ledger: Ledger, database_url: str
) -> None:
    app.use(load(database_url=database_url, max_attempts_error=20), app.events)
    hosts = [sites.host(number) for number in range(_SITES)]
    job = await app.store_many(
        app.pipelines["sites"],
        [{"url": sites.url(number)} for number in range(_SITES)],
        options=EnqueueOptions(),
        name=None,
        metadata={"type": "sites"},
    )
    living = [start(hosts), start(hosts)]
    deaths: dict[int, float] = {}
    kills, turn = 0, 0
    end = time.monotonic() + 540
    while (await job.counts()).finished < _SITES:
        assert time.monotonic() < end, f"{await job.counts()}, {kills} kills"
        # By time, and on a quick machine by what is done, so that several are killed on any.
        due, goal = time.monotonic() + _KILL_EVERY_SECONDS / 2, (kills + 1) * _SITES // 6
        while time.monotonic() < due and (await job.counts()).finished < goal:
            await asyncio.sleep(0.05)
        victim = living[turn % 2]
        deaths |= dict.fromkeys([one.pid for one in victim.runners()], 0.0)
        victim.kill()
        now = time.time()
        deaths |= {pid: now for pid, at in deaths.items() if at == 0.0}
        living[turn % 2] = start(hosts)
        kills, turn = kills + 1, turn + 1
    counts = await job.counts()
    errors = await connection.fetch("select task_id, error from penstock.outcomes where status = 3")
    assert counts.done == _SITES, [dict(row) for row in errors]
    print(f"{_SITES} sites, {kills} kills")
    assert kills >= 3
    task_ids = [row["id"] for row in await connection.fetch("select id from penstock.tasks where job_id = $1", job.id)]
    checkpoints = await connection.fetch(_CHECKPOINTS)
    _check_once_per_stage(ledger, checkpoints, task_ids)
    _check_one_at_a_time(ledger, checkpoints, deaths)
    assert await ledger_table.miscounted(connection) == 0
    assert await connection.fetchval("select count(*) from penstock.queue") == 0


def _check_once_per_stage(ledger: Ledger, checkpoints: list[asyncpg.Record], task_ids: list[int]) -> None:
    """Each stage of each site has one stored result, and no run of it began afterwards."""
    stored: dict[tuple[int, str], float] = {}
    for row in checkpoints:
        assert (row["task_id"], row["name"]) not in stored, "two results of one stage"
        stored[(row["task_id"], row["name"])] = row["at"]
    assert set(stored) == {(task_id, stage) for task_id in task_ids for stage in _STAGES}
    for entry in ledger.files():
        word, _, stage = entry.kind.partition(" ")
        if word == "start":
            assert entry.at <= stored[(entry.task_id, stage)] + 0.05, f"{stage} of {entry.task_id} was computed again"


def _check_one_at_a_time(ledger: Ledger, checkpoints: list[asyncpg.Record], deaths: dict[int, float]) -> None:
    """The runs of a site follow each other: the one before has stored its stage, has ended, or its process was killed.

    A process may be killed between the commit of its stage and the note that its handler ended."""
    runs: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    stored = {(row["task_id"], row["name"]): row["at"] for row in checkpoints}
    ends = {
        (one.task_id, one.lease, one.kind.partition(" ")[2]): one.at for one in ledger.files() if "end " in one.kind
    }
    for entry in ledger.files():
        word, _, stage = entry.kind.partition(" ")
        if word == "start":
            ended = ends.get((entry.task_id, entry.lease, stage), deaths.get(entry.pid, float("inf")))
            kept = stored[(entry.task_id, stage)]
            runs[entry.task_id].append((entry.at, min(ended, kept) if kept >= entry.at else ended, entry.lease))
    for task_id, found in runs.items():
        found.sort()
        for (_, ended, lease), (began, _, later) in pairwise(found):
            assert ended <= began, f"site {task_id}: lease {later} began {ended - began:.3f} s before {lease} had ended"
            assert lease < later


@pytest.mark.timeout(300)
async def test_sites_that_hang_cost_the_slots_they_hold_and_end_as_errors_after_three_attempts(
    app: Penstock, sites: Sites, start: Start, connection: asyncpg.Connection
) -> None:
    """A fifth of them hang. Each of its three tries holds a slot for the stage's timeout; the others get the rest."""
    timeout_seconds, pool = 4.0, 10
    hanging, answering = _SITES // 5, _SITES - _SITES // 5
    urls = [sites.url(n, hangs=n % 5 == 4) for n in range(_SITES)]
    hosts = [sites.host(n, hangs=n % 5 == 4) for n in range(_SITES)]
    tree = start(
        hosts, max_attempts_error="3", sites_timeout_seconds=str(timeout_seconds), sites_page_timeout_seconds="60"
    )
    tree.wait_ready()
    job = await app.store_many(
        app.pipelines["sites"],
        [{"url": url} for url in urls],
        options=EnqueueOptions(),
        name=None,
        metadata={"type": "sites"},
    )
    seen_hanging = 0
    while (counts := await job.counts()).finished < _SITES:
        seen_hanging = max(seen_hanging, sites.hanging)
        await asyncio.sleep(0.1)
    assert counts.done == answering
    assert counts.error == hanging
    rows = await connection.fetch(
        "select attempts, error from penstock.outcomes where job_id = $1 and status = 3", job.id
    )
    assert {row["attempts"] for row in rows} == {3}
    causes = await connection.fetch("select cause, count(*) as n from penstock.attempts group by 1")
    assert {row["cause"]: row["n"] for row in causes} == {"timeout": 2 * hanging}
    assert seen_hanging <= pool
