"""A real PostgreSQL for every test that asks for one.

One embedded server per test run, shared by the processes of pytest-xdist; ``PENSTOCK_TEST_DATABASE_URL`` puts
a server of your own in its place. A test that asks for ``database_url`` gets a migrated, empty database:
``tests/databases.py`` says how that is cheap.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, settings

from penstock import embedded
from tests.databases import Databases
from tests.scheduling import Times, pytest_collection_modifyitems

__all__ = ["pytest_collection_modifyitems"]

_PREFIX = "penstock-tests-"
_HOME = "PENSTOCK_TEST_HOME"
_SERVER = "PENSTOCK_TEST_DATABASE_URL"
# The name of a migrated database that is there already, for runs that share a server.
_TEMPLATE = "PENSTOCK_TEST_TEMPLATE"
_FOLDER = pytest.StashKey[Path]()

# How quick the machine is says nothing about an example.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# The tests' data is thrown away: no need to wait for the disk, or to have one where memory will do. Emptying databases
# creates and removes thousands of files, which costs a disk's file system half of PostgreSQL's whole CPU time.
_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 4 << 30
_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "128MB"}


def pytest_configure(config: pytest.Config) -> None:
    """The run's first process chooses the folder of the server; the xdist ones inherit its name."""
    # A shell starts background jobs with SIGINT ignored, and what the tests start would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times())
    if hasattr(config, "workerinput") or os.environ.get(_HOME) or os.environ.get(_SERVER):
        return
    _remove_leftovers()
    folder = server_folder()
    config.stash[_FOLDER] = folder
    os.environ[_HOME] = str(folder / "home")


def server_folder() -> Path:
    """A new one for a PostgreSQL, in memory where that is enough; a killed run leaves it to the next one to remove."""
    # Not pytest's own temporary folder: as root, the server's user could not pass through that one.
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_place()))
    folder.chmod(0o711)
    return folder


def _place() -> Path:
    return _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES else Path("/tmp")


def _remove_leftovers() -> None:
    """Of runs that were killed. A server whose data is gone notices within a minute and ends."""
    for folder in (*_MEMORY.glob(f"{_PREFIX}*-*"), *Path("/tmp").glob(f"{_PREFIX}*-*")):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Runs after the xdist processes have left, and the last of them has stopped the server."""
    if (folder := config.stash.get(_FOLDER, None)) is not None:
        os.environ.pop(_HOME, None)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def environment_as_it_was() -> Iterator[None]:
    """A variable that a test leaves behind changes what the workers of later tests do."""
    before = _variables()
    yield
    assert _variables() == before


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("PENSTOCK_")}


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The server all tests share. Make databases in it; use ``database_url`` for one that is ready."""
    if given := os.environ.get(_SERVER):
        yield given
        return
    server = embedded.acquire(Path(os.environ[_HOME]), settings=_FAST)
    yield server.url
    server.release()


@pytest.fixture(scope="session")
def databases(server_url: str) -> Iterator[Databases]:
    made = Databases(server_url, os.environ.get(_TEMPLATE))
    yield made
    made.close()


@pytest.fixture
async def database_url(databases: Databases) -> AsyncIterator[str]:
    """A database for one test, migrated and empty; afterwards whoever is still in it is thrown out."""
    url = databases.take()
    yield url
    # In a thread, so that connections of this loop that the test left open hear of their end.
    await asyncio.to_thread(databases.give_back, url)


@pytest.fixture(scope="module")
def module_database_url(databases: Databases) -> Iterator[str]:
    """One database for all tests of a file."""
    url = databases.take()
    yield url
    databases.give_back(url)


@pytest.fixture
def bare_url(databases: Databases) -> Iterator[str]:
    """A database without Penstock in it."""
    url = databases.bare()
    yield url
    databases.drop(url)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(database_url)
    yield opened
    if not opened.is_closed():
        await opened.close()
