"""Whoever waits for a task or a job goes on waiting while the database is away, as the work does."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from penstock import Penstock, WaitTimeout, embedded
from penstock.errors import DatabaseUnavailable
from penstock.events import Event
from penstock.testing.proxy import Proxy
from tests.crash.conftest import StartWorker, eventually, opened_on
from tests.crash.crash_app import patient
from tests.databases import Databases


class Waits:
    """A task and a job that run until the gate opens, and everybody who waits for them."""

    def __init__(self, app: Penstock, gate: Path) -> None:
        self._app = app
        self.gate = gate
        self.lost: set[str] = set()
        app.events.add(self._heard)

    async def begin(self, timeout: float | None = None) -> None:
        await self.enqueue()
        self.wait(timeout)

    async def enqueue(self) -> None:
        self.task = await patient.enqueue(str(self.gate))
        self.job = await patient.enqueue_many([{"gate": str(self.gate)}] * 2)

    def wait(self, timeout: float | None) -> None:
        self.waiting: list[asyncio.Task[Any]] = [
            asyncio.create_task(one)
            for one in (
                self.task.result(timeout),
                self._app.task_by_id(self.task.id).wait(timeout),
                self.job.wait(timeout),
            )
        ]

    async def noticed(self) -> None:
        """Until both of those who look have failed to."""

        async def both() -> bool:
            assert not any(one.done() for one in self.waiting)
            return self.lost == {"results", "job"}

        await eventually(both, what="a look that found no database")

    async def end(self) -> None:
        result, (_, stored, _), counts = await asyncio.gather(*self.waiting)
        assert (result, stored, counts.done) == ("opened", "opened", 2)

    def forget(self) -> None:
        self._app.events.remove(self._heard)

    def _heard(self, event: Event) -> None:
        if event.name == "database.lost":
            self.lost.add(event.data["link"])


async def stop(server: embedded.EmbeddedServer, number: signal.Signals) -> None:
    postmaster = psutil.Process(int((server.home / "data" / "postmaster.pid").read_text().split()[0]))
    postmaster.send_signal(number)
    await asyncio.to_thread(psutil.wait_procs, [postmaster], 60)


@pytest.mark.parametrize(
    ("number", "timeout"), [(signal.SIGINT, None), (signal.SIGQUIT, 100.0)], ids=["fast", "immediate"]
)
async def test_results_and_jobs_are_awaited_through_a_restart_of_the_server(
    number: signal.Signals,
    timeout: float | None,
    own_server: embedded.EmbeddedServer,
    start_worker: StartWorker,
    tmp_path: Path,
) -> None:
    start_worker(url=own_server.url, lease_seconds="60", heartbeat_seconds="3")
    async with opened_on(own_server.url) as app:
        waits = Waits(app, tmp_path / "gate")
        await waits.begin(timeout)
        await stop(own_server, number)
        await waits.noticed()
        waits.gate.touch()
        await asyncio.to_thread(own_server.ensure_running)
        await waits.end()
        waits.forget()


async def test_a_wait_that_is_over_while_the_server_is_away_says_what_could_not_be_reached(
    own_server: embedded.EmbeddedServer, tmp_path: Path
) -> None:
    async with opened_on(own_server.url) as app:
        waits = Waits(app, tmp_path / "gate")
        await waits.enqueue()
        await stop(own_server, signal.SIGINT)
        waits.wait(timeout=0.5)
        told = await asyncio.gather(*waits.waiting, return_exceptions=True)
        subjects = (f"task {waits.task.id} ", f"task {waits.task.id} ", f"job {waits.job.id} ")
        for error, subject in zip(told, subjects, strict=True):
            assert isinstance(error, WaitTimeout), error
            assert subject in str(error)
            assert "0.5 s" in str(error)
            assert "local socket/penstock" in str(error)
            assert error.state == "unknown"
        waits.forget()
        await asyncio.to_thread(own_server.ensure_running)


async def test_terminated_connections_do_not_end_a_wait(
    app: Penstock, connection: asyncpg.Connection, start_worker: StartWorker, tmp_path: Path
) -> None:
    """Those of the worker too, its listener among them."""
    start_worker()
    waits = Waits(app, tmp_path / "gate")
    await waits.begin()
    terminated = 0

    async def some() -> bool:
        nonlocal terminated
        terminated += await connection.fetchval(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        return terminated > 20

    await eventually(some)
    waits.gate.touch()
    await waits.end()
    waits.forget()


async def test_a_silent_line_ends_no_wait_but_one_whose_time_is_over(
    app: Penstock, database_url: str, start_worker: StartWorker, tmp_path: Path
) -> None:
    start_worker()
    await app.close()
    async with Proxy(database_url) as proxy, opened_on(proxy.url, command_timeout_seconds=1) as app:
        waits = Waits(app, tmp_path / "gate")
        await waits.begin()
        proxy.blackhole()
        for short in (waits.task.result(0.2), waits.job.wait(0.2)):
            with pytest.raises(WaitTimeout, match="local socket/penstock_test"):
                await short
        await waits.noticed()
        waits.gate.touch()
        proxy.restore()
        await waits.end()
        waits.forget()


async def test_a_database_that_is_gone_for_good_ends_a_wait_at_once(
    app: Penstock, databases: Databases, database_url: str, tmp_path: Path
) -> None:
    waits = Waits(app, tmp_path / "gate")
    await waits.begin()
    databases.drop(database_url)
    for waiting in waits.waiting:
        with pytest.raises(DatabaseUnavailable, match="does not exist"):
            await asyncio.wait_for(waiting, 60)
    waits.forget()
