"""Tasks that kill their process. Only their own runner dies, three times; the neighbours finish."""

import asyncio

import asyncpg
import pytest

from penstock import Penstock, State
from penstock.core.background import BackgroundTask
from penstock.testing.ledger import Ledger
from tests.crash.conftest import StartWorker
from tests.crash.crash_app import endless, leaves, quick, segfault


@pytest.mark.parametrize(
    ("poison", "last_words"),
    [
        (segfault, "the process died: signal SIGSEGV"),
        (leaves, "the process died: exit code 7"),
        (endless, "went on past its deadline and the grace"),
    ],
    ids=["segfault", "os._exit", "endless C loop"],
)
async def test_poison_is_a_dead_letter_after_exactly_three_crashes(
    poison: BackgroundTask[[], None],
    last_words: str,
    app: Penstock,
    connection: asyncpg.Connection,
    ledger: Ledger,
    start_worker: StartWorker,
) -> None:
    worker = start_worker(lease_seconds="60", heartbeat_seconds="0.5")
    neighbours = [await quick.enqueue(n, seconds=0.2) for n in range(20)]
    task = await poison.enqueue()
    state, _, error = await task.wait(60)
    assert state is State.ERROR
    assert error is not None
    assert last_words in error["message"]
    assert await asyncio.gather(*(one.result(60) for one in neighbours)) == list(range(20))
    assert len(ledger.starts()[task.id]) == 3
    history = (await task.details())["history"]
    assert [row["burned"] for row in history] == [True, True, True]
    audit = await ledger.audit(connection, [one.id for one in (task, *neighbours)])
    assert audit.exact, audit
    assert worker.events("worker.died") == 3
    assert worker.alive
