"""Fixtures for tests of applications that use Penstock. Known to pytest as soon as the package is installed.

Everything is imported late: a test run that uses none of them pays nothing.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from penstock.testing.processes import WorkerTree
    from penstock.testing.proxy import Proxy

SERVER = "PENSTOCK_TEST_DATABASE_URL"
# Thrown away after the run: no need to wait for the disk.
_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "128MB"}


@pytest.fixture(scope="session")
def penstock_server() -> Iterator[str]:
    """One embedded PostgreSQL for the whole run, or the server of ``PENSTOCK_TEST_DATABASE_URL``."""
    if given := os.environ.get(SERVER):
        yield given
        return
    from penstock import embedded

    # Not pytest's own temporary folder: as root, the server's user could not pass through that one.
    folder = Path(tempfile.mkdtemp(prefix="penstock-pytest-", dir="/tmp"))
    folder.chmod(0o711)
    server = embedded.acquire(folder / "home", settings=_FAST)
    try:
        yield server.url
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def penstock_template(penstock_server: str) -> Iterator[str]:
    """A migrated, empty database, with the extensions on this machine; every test gets a copy of it."""
    name = f"penstock_template_{uuid4().hex[:12]}"
    asyncio.run(_make_template(penstock_server, name))
    yield name
    asyncio.run(_administer(penstock_server, f'drop database if exists "{name}" with (force)'))


@pytest.fixture
def penstock_database(penstock_server: str, penstock_template: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a fresh, migrated database for one test; ``PENSTOCK_DATABASE_URL`` is set to it meanwhile."""
    name = f"penstock_test_{uuid4().hex[:12]}"
    _apart(_administer(penstock_server, f'create database "{name}" template "{penstock_template}"'))
    url = urlunsplit(urlsplit(penstock_server)._replace(path=f"/{name}"))
    monkeypatch.setenv("PENSTOCK_DATABASE_URL", url)
    yield url
    _apart(_administer(penstock_server, f'drop database if exists "{name}" with (force)'))


@pytest.fixture
def penstock_workers(penstock_database: str, tmp_path: Path) -> "Iterator[Callable[..., WorkerTree]]":
    """Starts real workers for an application given as ``module:name``; kill, freeze and thaw them as you like.

    ``penstock_workers("shop:app", lease_seconds=2, heartbeat_seconds=0.5)`` — further names are settings.
    """
    from penstock.testing.processes import WorkerTree

    started: list[WorkerTree] = []

    def start(app: str, *, url: str | None = None, ready: bool = True, **settings: Any) -> WorkerTree:
        tree = WorkerTree(
            app,
            url=url or penstock_database,
            log=tmp_path / f"penstock-worker-{len(started)}.log",
            environment={f"PENSTOCK_{name.upper()}": str(value) for name, value in settings.items()},
            path=[str(Path.cwd())],
        )
        started.append(tree)
        if ready:
            tree.wait_ready()
        return tree

    yield start
    for tree in started:
        tree.close()


@pytest.fixture
async def penstock_proxy(penstock_database: str) -> "AsyncIterator[Proxy]":
    """The test's database through a link that can be cut, slowed and silenced. Needs pytest-asyncio or anyio."""
    from penstock.testing.proxy import Proxy

    async with Proxy(penstock_database) as proxy:
        yield proxy


async def _make_template(server_url: str, name: str) -> None:
    import asyncpg

    from penstock.extension import discovered
    from penstock.storage.migrate import migrate, migrations_of

    await _administer(server_url, f'create database "{name}"')
    inside = await asyncpg.connect(urlunsplit(urlsplit(server_url)._replace(path=f"/{name}")))
    try:
        await migrate(inside, migrations_of(discovered()))
    finally:
        await inside.close()


async def _administer(server_url: str, statement: str) -> None:
    import asyncpg

    administrator = await asyncpg.connect(server_url)
    try:
        await administrator.execute(statement)
    finally:
        await administrator.close()


def _apart(work: Any) -> None:
    """In a thread with a loop of its own: the fixture also serves tests that have one running."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()
