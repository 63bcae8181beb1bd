"""kill -9 of users, of the server, of everything, and of a start half-way."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from penstock import embedded
from penstock.embedded import processes
from penstock.embedded.postmaster import takes_connections
from tests.crash.embedded.user_process import (
    UserProcess,
    ask,
    assert_stopped,
    eventually,
    kill_all,
    postmaster_pid,
    server_processes,
)

StartUser = Callable[..., UserProcess]
STORE = "CREATE TABLE kept AS SELECT 42 AS answer"
READ = "SELECT answer FROM kept"


async def test_after_a_kill_of_every_user_the_next_one_takes_the_server_over(home: Path, start_user: StartUser) -> None:
    users = [start_user(home), start_user(home)]
    for user in users:
        user.url()
    pid = postmaster_pid(home)
    for user in users:
        user.kill()
    assert psutil.Process(pid).is_running()

    next_one = embedded.acquire(home)
    assert await ask(next_one.url, "SELECT 1") == 1
    assert postmaster_pid(home) == pid
    next_one.release()
    assert_stopped(home)


async def _comes_back_when_killed(home: Path) -> None:
    server = embedded.acquire(home)
    await ask(server.url, STORE)
    assert server.ensure_running() is False
    kill_all([psutil.Process(postmaster_pid(home))])

    assert server.ensure_running() is True
    assert await ask(server.url, READ) == 42
    server.release()
    assert_stopped(home)


async def test_a_killed_server_is_started_again_by_whoever_still_uses_it(home: Path) -> None:
    await _comes_back_when_killed(home)


async def test_a_killed_server_is_started_again_by_the_next_to_arrive(home: Path, start_user: StartUser) -> None:
    user = start_user(home)
    url = user.url()
    await ask(url, STORE)
    kill_all([psutil.Process(postmaster_pid(home))])

    newcomer = start_user(home)
    assert newcomer.url() == url
    assert await ask(url, READ) == 42
    newcomer.leave()
    assert await ask(url, READ) == 42
    user.leave()
    assert_stopped(home)


async def test_a_kill_of_everything_loses_nothing(home: Path, start_user: StartUser) -> None:
    user = start_user(home)
    await ask(user.url(), STORE)
    kill_all(server_processes(home))
    user.kill()
    assert (home / "data" / "postmaster.pid").exists()

    server = embedded.acquire(home)
    assert await ask(server.url, READ) == 42
    server.release()


async def test_a_frozen_backend_of_a_killed_server_does_not_block_the_next_start(home: Path) -> None:
    server = embedded.acquire(home)
    await ask(server.url, STORE)
    connection = await asyncpg.connect(server.url)
    backend = await connection.fetchval("SELECT pg_backend_pid()")
    os.kill(backend, signal.SIGSTOP)
    kill_all([psutil.Process(postmaster_pid(home))])

    assert server.ensure_running() is True
    assert not processes.is_alive(backend)
    assert await ask(server.url, READ) == 42
    connection.terminate()
    server.release()


async def test_a_server_that_recovers_from_the_crash_of_a_backend_is_waited_for(home: Path) -> None:
    server = embedded.acquire(home)
    await ask(server.url, "CREATE TABLE much_to_recover AS SELECT generate_series(1, 300000) AS number")
    connection = await asyncpg.connect(server.url)
    backend = await connection.fetchval("SELECT pg_backend_pid()")
    kill_all([psutil.Process(backend)])
    eventually(lambda: not takes_connections(home / "socket", role="penstock", database="penstock"), "recovery")

    newcomer = embedded.acquire(home)
    assert await ask(newcomer.url, "SELECT count(*) FROM much_to_recover") == 300000
    connection.terminate()
    newcomer.release()
    server.release()


@pytest.mark.skipif(shutil.which("ps") is None, reason="what stands in for /proc is not installed")
async def test_without_proc_a_killed_server_comes_back_as_well(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "HAS_PROC", False)
    await _comes_back_when_killed(home)


@pytest.fixture
def bystander(home: Path) -> Iterator[int]:
    """Of the same user, or PostgreSQL itself would know that it is not the server."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=home.stat().st_uid) as process:
        yield process.pid
        process.kill()


async def test_a_stale_pid_file_whose_number_now_belongs_to_another_process_is_ignored(
    home: Path, bystander: int
) -> None:
    server = embedded.acquire(home)
    lines = (home / "data" / "postmaster.pid").read_text().splitlines()
    kill_all(server_processes(home))
    (home / "data" / "postmaster.pid").write_text("\n".join([str(bystander), *lines[1:], ""]))

    assert server.ensure_running() is True
    assert await ask(server.url, "SELECT 1") == 1
    assert processes.is_alive(bystander)
    server.release()


async def test_a_server_that_is_shutting_down_is_replaced(home: Path) -> None:
    server = embedded.acquire(home)
    connection = await asyncpg.connect(server.url)
    os.kill(postmaster_pid(home), signal.SIGTERM)  # waits for its clients, and takes no new ones
    eventually(lambda: "stopping" in (home / "data" / "postmaster.pid").read_text(), "a smart shutdown")

    newcomer = embedded.acquire(home)
    assert await ask(newcomer.url, "SELECT 1") == 1
    connection.terminate()
    newcomer.release()
    server.release()
    assert_stopped(home)


async def test_a_server_whose_socket_was_deleted_is_replaced(home: Path) -> None:
    server = embedded.acquire(home)
    (home / "socket" / ".s.PGSQL.5432").unlink()
    assert server.ensure_running() is True
    assert await ask(server.url, "SELECT 1") == 1
    server.release()


@pytest.mark.parametrize("initdb_dies_too", [True, False])
async def test_a_first_start_killed_half_way_begins_again(
    folder: Path, start_user: StartUser, *, initdb_dies_too: bool
) -> None:
    home = folder / "home"
    starter = start_user(home)
    eventually(lambda: any(home.glob("data.new-*/global")), "initdb at work")
    starter.kill()
    if initdb_dies_too:
        kill_all(server_processes(home))
    assert not (home / "data").exists()

    server = embedded.acquire(home)
    assert await ask(server.url, "SELECT 1") == 1
    assert not any(home.glob("data.new-*"))
    server.release()
    assert_stopped(folder)
