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
from penstock.config import load
from penstock.extensions.sites.findings import ASKING, FORMING, READING
from penstock.testing import ledger_table
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from tests.crash import sites_app
from tests.crash.conftest import QUICK_LEASE, ROOT
from tests.crash.sites_server import Sites, serving
from tests.sizes import size
from tests.warm import warm_starts

_SITES = size("SITES", small=16, whole=200)
_SITES_PER_KILL = 4
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
            start=warm_starts().start,
        )
        trees.append(tree)
        return tree

    yield start
    for tree in trees:
        tree.close()


@pytest.mark.timeout(600)
async def test_every_site_is_analysed_once_although_workers_are_killed_at_work_again_and_again(
    app: Penstock, sites: Sites, start: Start, connection: asyncpg.Connection, ledger: Ledger, database_url: str
) -> None:
    """A few sites at a time. One of them does not answer, and whoever asked it dies."""
    app.use(load(database_url=database_url, max_attempts_error=20), app.events)
    hosts = [sites.host(number) for number in range(_SITES)]
    living = [start(hosts), start(hosts)]
    deaths: dict[int, float] = {}
    jobs = []
    for first in range(0, _SITES, _SITES_PER_KILL):
        sites.hang_once.add(sites.host(first).partition(":")[0])
        jobs.append(
            await app.store_many(
                app.pipelines["sites"],
                [{"url": sites.url(number)} for number in range(first, first + _SITES_PER_KILL)],
                options=EnqueueOptions(),
                name=None,
                metadata={"type": "sites"},
            )
        )
        while sites.hang_once:
            await asyncio.sleep(0.02)
        victim = await _at_work(living, connection, sites.url(first))
        deaths |= dict.fromkeys([one.pid for one in victim.runners()], 0.0)
        victim.kill()
        now = time.time()
        deaths |= {pid: now for pid, at in deaths.items() if at == 0.0}
        living[living.index(victim)] = start(hosts)
    for job in jobs:
        await job.wait(500)
    errors = await connection.fetch("select task_id, error from penstock.outcomes where status <> 2")
    assert errors == [], [dict(row) for row in errors]
    task_ids = [row["id"] for row in await connection.fetch("select id from penstock.tasks")]
    assert len(task_ids) == _SITES
    checkpoints = await connection.fetch(_CHECKPOINTS)
    _check_once_per_stage(ledger, checkpoints, task_ids)
    _check_one_at_a_time(ledger, checkpoints, deaths)
    assert await ledger_table.miscounted(connection) == 0
    assert await connection.fetchval("select count(*) from penstock.queue") == 0


async def _at_work(living: list[WorkerTree], connection: asyncpg.Connection, url: str) -> WorkerTree:
    """Whoever has the site. On a slow machine its lease may be over by now, and any worker will do."""
    pid = await connection.fetchval(
        "select w.pid from penstock.tasks t join penstock.queue q on q.task_id = t.id"
        " join penstock.workers w on w.id = q.worker where t.input->>'url' = $1",
        url,
    )
    return next((tree for tree in living if tree.pid == pid), living[0])


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
    """A fifth of them hang. Each of its three tries holds a slot until its timeout; the others get the rest, and as
    much time as they need."""
    pool, hanging, answering = 10, _SITES // 5, _SITES - _SITES // 5
    hosts = [sites.host(n, hangs=n % 5 == 4) for n in range(_SITES)]
    tree = start(hosts, max_attempts_error="3", sites_timeout_seconds="600", sites_page_timeout_seconds="600")
    tree.wait_ready()
    jobs = [
        await app.store_many(
            app.pipelines["sites"],
            [{"url": sites.url(n, hangs=hangs)} for n in range(_SITES) if (n % 5 == 4) is hangs],
            options=EnqueueOptions(timeout=timeout),
            name=None,
            metadata={"type": "sites"},
        )
        for hangs, timeout in ((True, 4), (False, 600))
    ]
    seen_hanging = 0
    while sum([(await job.counts()).finished for job in jobs]) < _SITES:
        seen_hanging = max(seen_hanging, sites.hanging)
        await asyncio.sleep(0.1)
    counts = [await job.counts() for job in jobs]
    assert (counts[0].error, counts[1].done) == (hanging, answering)
    rows = await connection.fetch(
        "select attempts, error from penstock.outcomes where job_id = $1 and status = 3", jobs[0].id
    )
    assert {row["attempts"] for row in rows} == {3}
    timeouts = await connection.fetch(
        "select count(*) as n from penstock.attempts join penstock.outcomes using (task_id)"
        " where status = 3 and cause = 'timeout' group by task_id"
    )
    assert [row["n"] for row in timeouts] == [2] * hanging
    assert seen_hanging <= pool
