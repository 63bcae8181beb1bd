"""Everything dies while a file is stored and while its rows are processed: workers and database, with kill -9."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import asyncpg
import psutil

from penstock import Penstock, embedded
from penstock.console.files.submit import Submission, submit_file
from penstock.storage import imports
from penstock.testing.ledger import Ledger
from penstock.testing.processes import WorkerTree
from tests.crash.conftest import StartWorker, eventually, opened_on
from tests.sizes import size

ROWS = size("IMPORT_ROWS", small=60_000, whole=1_000_000)


async def _file() -> AsyncIterator[bytes]:
    yield b"number,text\n"
    for first in range(1, ROWS + 1, 10_000):
        numbers = range(first, min(first + 10_000, ROWS + 1))
        yield b"".join(b'%d,"row %d, with a comma"\n' % (number, number) for number in numbers)


async def _power_cut(worker: WorkerTree, server: embedded.EmbeddedServer) -> None:
    """Nothing gets to say goodbye; then the server is started again."""
    worker.kill()
    pid = int((server.home / "data" / "postmaster.pid").read_text().split()[0])
    backends = psutil.Process(pid).children()
    for process in (psutil.Process(pid), *backends):
        with suppress(psutil.NoSuchProcess):  # a backend ends by itself when its client was killed
            process.kill()
    psutil.wait_procs(backends, timeout=60)
    await asyncio.to_thread(server.ensure_running)


async def _stored(app: Penstock, job: int) -> int:
    async with app.connection() as connection:
        found = await imports.get(connection, job)
    assert found is not None
    return found.rows_stored


async def test_every_row_is_stored_and_processed_once_though_everything_is_killed_twice(
    own_server: embedded.EmbeddedServer, ledger: Ledger, start_worker: StartWorker
) -> None:
    async with opened_on(own_server.url) as app:
        submission = Submission(owner="ann", pipeline="row_of_file", file_name="rows.csv")
        job = (await submit_file(app, submission, _file())).job_id
        worker = start_worker(url=own_server.url, ingest_max_rows="500")

        async def partly_stored() -> bool:
            return await _stored(app, job) > ROWS // 5

        await eventually(partly_stored, what="a part of the file is stored", seconds=60)
        await _power_cut(worker, own_server)

    connection = await asyncpg.connect(own_server.url)
    async with opened_on(own_server.url) as app:
        stored = await _stored(app, job)
        assert ROWS // 5 < stored < ROWS
        assert await connection.fetchval("select count(*) from penstock.tasks where job_id = $1", job) == stored
        worker = start_worker(url=own_server.url)

        async def partly_done() -> bool:
            return (await app.job_by_id(job).counts()).done > ROWS // 2

        await eventually(partly_done, what="half of the rows are processed", seconds=90)
        await connection.close()
        await _power_cut(worker, own_server)

    connection = await asyncpg.connect(own_server.url)
    async with opened_on(own_server.url) as app:
        ended = {
            row[0] for row in await connection.fetch("select task_id from penstock.outcomes where job_id = $1", job)
        }
        before = {task: len(starts) for task, starts in ledger.starts().items() if task in ended}
        start_worker(url=own_server.url)
        counts = await app.job_by_id(job).wait(timeout=100)

        async def whole() -> bool:
            return await _stored(app, job) == ROWS

        await eventually(whole, what="the whole file is stored", seconds=90)
        counts = await app.job_by_id(job).wait(timeout=100)
        assert (counts.total, counts.done) == (ROWS, ROWS)
        numbers = await connection.fetch(
            "select (input ->> 'row')::int as n from penstock.tasks where job_id = $1", job
        )
        assert sorted(row["n"] for row in numbers) == list(range(1, ROWS + 1))
        after = {task: len(starts) for task, starts in ledger.starts().items() if task in ended}
        assert after == before, "nothing that was DONE ran again"
        assert await connection.fetchval("select state from penstock.imports where job_id = $1", job) == "stored"
    await connection.close()
