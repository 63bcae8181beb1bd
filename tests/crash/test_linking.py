"""Many records against a source with a limit and faults, while workers are killed.

Small by default, because a machine that runs other tests at the same time is not as fast as the limit. The full figure:
``PENSTOCK_TEST_LINKING_RECORDS=10000 PENSTOCK_TEST_LINKING_PER_SECOND=200 pytest -n 0 -s tests/crash/test_linking.py``
"""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.config import load
from penstock.extensions.linking import dataset, matching, projects, records, saving
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.shared import RecordLinking
from penstock.testing import ledger_table
from penstock.testing.processes import WorkerTree
from tests.crash import linking_app
from tests.crash.conftest import QUICK_LEASE, ROOT
from tests.extensions.wikidata_server import counts_of, running
from tests.extensions.wikidata_world import generated
from tests.sizes import LONG, size
from tests.warm import warm_starts

OWNER = "ada"
RECORDS = size("LINKING_RECORDS", small=300, whole=20_000)
PER_SECOND = float(size("LINKING_PER_SECOND", small=30, whole=200))
# What we ask for: a little below what the source allows, since it counts arrivals, and those come unevenly. At the very
# limit, a 429 would stop everybody for a second again and again.
ASKED_PER_SECOND = 0.92 * PER_SECOND
_PAUSE_SECONDS = 8.0


@asynccontextmanager
async def opened(database_url: str, url: str) -> AsyncIterator[RecordLinking]:
    app = linking_app.app
    settings = load(database_url=database_url, linking_endpoint=url, linking_user_agent="tests (https://example.org)")
    app.use(settings.model_copy(update={"linking_per_second": ASKED_PER_SECOND}), app.events)
    async with app:
        try:
            yield linking_app.linking
        finally:
            await linking_app.linking.close()


def worker(database_url: str, url: str, log: Path) -> WorkerTree:
    environment = {
        **QUICK_LEASE,
        "PENSTOCK_RUNNERS": "2",
        "PENSTOCK_CRASH_LIMIT": "100",
        "PENSTOCK_LINKING_ENDPOINT": url,
        "PENSTOCK_LINKING_USER_AGENT": "tests (https://example.org)",
        "PENSTOCK_LINKING_PER_SECOND": str(ASKED_PER_SECOND),
        "PENSTOCK_LINKING_CONCURRENCY": "24",
        "PENSTOCK_LINKING_CANDIDATES": "5",
    }
    return WorkerTree(
        "tests.crash.linking_app:app",
        url=database_url,
        log=log,
        environment=environment,
        path=[str(ROOT)],
        start=warm_starts().start,
    )


async def ended(linking: RecordLinking, project_id: int, *, seconds: float, tree: WorkerTree) -> Project:
    deadline = time.monotonic() + seconds
    while True:
        async with linking.app.connection() as connection:
            project = await projects.require(connection, project_id)
            if project.ended_at is not None:
                return project
            counts = await records.counts(connection, project_id)
        left = {state.name: n for state, n in counts.items() if n}
        assert time.monotonic() < deadline, f"after {seconds:g} s: {left}\n{tree.tail()}"
        await asyncio.sleep(0.1)


async def kill_now_and_then(tree: WorkerTree, kills: list[float], chance: random.Random) -> None:
    while True:
        await asyncio.sleep(_PAUSE_SECONDS * chance.uniform(0.5, 1.5))
        if tree.kill_runner() is not None:
            kills.append(time.monotonic())


def _beyond(counts: dict[str, Any]) -> tuple[int, int]:
    """Requests, and of those the ones that were answered well more than once for the same question."""
    total = twice = 0
    for kind in ("search", "entities"):
        for answers in counts[kind].values():
            total += sum(answers.values())
            twice += max(answers.get("200", 0) - 1, 0)
    return total, twice


@pytest.mark.timeout(600)
async def test_every_record_ends_once_at_the_pace_of_the_source_while_workers_die(
    database_url: str, tmp_path: Path
) -> None:
    world = generated(RECORDS)
    names = [next(iter(one["labels"].values()))["value"] for one in list(world.entities.values())[:RECORDS]]
    async with (
        running(entities=RECORDS, per_second=PER_SECOND, fail_share=0.02, latency_ms=15) as url,
        opened(database_url, url) as linking,
    ):
        rows = [{"name": name} for name in names]
        project = await saving.create(linking, dataset.read_objects(rows), name="People", owner=OWNER)
        tree = worker(database_url, url, tmp_path / "worker.log")
        kills: list[float] = []
        try:
            tree.wait_ready()
            started = await matching.start(linking, project.id, "all", OWNER)
            killing = asyncio.create_task(kill_now_and_then(tree, kills, random.Random(1)))
            done = await ended(linking, project.id, seconds=300, tree=tree)
            killing.cancel()
        finally:
            tree.close()
        counts = await counts_of(url)
        await _check(linking, done, started, counts, kills)


async def _check(
    linking: RecordLinking, done: Project, started: matching.Started, counts: dict[str, Any], kills: list[float]
) -> None:
    async with linking.app.connection() as connection:
        states = await records.counts(connection, done.id)
        ids = await connection.fetchval("select count(*) from record_linking.entities where fetched_at is not null")
        assert await ledger_table.miscounted(connection) == 0
    requests, twice = _beyond(counts)
    answers = Counter(counts["answers"])
    good_fetches = sum(one.get("200", 0) for one in counts["entities"].values())
    assert done.started_at is not None and done.ended_at is not None
    took = (done.ended_at - done.started_at).total_seconds()
    ideal = requests / PER_SECOND
    told = f"{took:.1f} s, ideal {ideal:.1f} s, {requests} requests, {twice} twice, {len(kills)} kills, {answers}"
    print(f"{told}, {ids} ids, {good_fetches} fetches, { ({s.name: n for s, n in states.items() if n}) }")
    assert sum(states.values()) == RECORDS
    assert not any(
        states[one] for one in (RecordState.NEW, RecordState.QUEUED, RecordState.MATCHING, RecordState.ERROR)
    )
    assert len(kills) >= (3 if LONG else 1)
    # A question that was answered and whose worker was killed before it had stored that is asked again.
    assert twice <= len(kills) * 36, told
    assert len(counts["search"]) == started.queries
    assert len(counts["entities"]) <= math.ceil(ids / 50), told
