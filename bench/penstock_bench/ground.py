"""Where a bench measures: databases of its own on one server, and a real worker for each.

Without --database-url or --home the server is an embedded one in a fresh folder, removed afterwards. On a given
server each bench makes databases of its own and drops them; nobody's tasks are touched.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from pydantic import SecretStr

from penstock import embedded
from penstock.application import Penstock
from penstock.config import Settings
from penstock.extension import discovered
from penstock.fleet.fleet import Fleet
from penstock.storage import database
from penstock.storage.migrate import migrate, migrations_of
from penstock_bench import bench_app
from penstock_bench import statements as bench
from penstock_bench.bench_app import Tasks

APP = "penstock_bench.bench_app:app"
_READY_SECONDS = 30.0
# Counting statements costs about a microsecond each, and there are two per thousand tasks.
_SERVER_SETTINGS = {"shared_preload_libraries": "pg_stat_statements"}


@contextmanager
def inherited(variables: Mapping[str, str]) -> Iterator[None]:
    """What the processes that are started meanwhile find in their environment; ours is left as it was."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Ground:
    """The server of one bench run."""

    def __init__(
        self, settings: Settings, url: str, folder: Path, tell: Callable[[str], None], *, embedded: bool
    ) -> None:
        self.settings = settings
        self.embedded = embedded
        self.url = url
        self.folder = folder
        self._tell = tell
        self._began = time.monotonic()

    def tell(self, line: str) -> None:
        """Progress, with the seconds since the beginning."""
        self._tell(f"{time.monotonic() - self._began:5.1f} s  {line}")

    def until(self, seconds: float | None) -> float | None:
        """That many seconds after the bench began, on the monotonic clock."""
        return None if seconds is None else self._began + seconds

    @asynccontextmanager
    async def site(self) -> AsyncIterator["Site"]:
        """A fresh, migrated database."""
        name = f"penstock_bench_{os.getpid()}_{uuid4().hex[:12]}"
        async with connected(self.settings, self.url) as administrator:
            await bench.create_database(administrator, name)
        url = urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))
        try:
            async with connected(self.settings, url) as connection:
                await migrate(connection, migrations_of(discovered()))
                app = Penstock("bench", settings=self.settings.model_copy(update={"database_url": SecretStr(url)}))
                tasks = bench_app.declare(app)
                async with app:
                    yield Site(self, url, connection, app, tasks)
        finally:
            async with connected(self.settings, self.url) as administrator:
                await bench.drop_database(administrator, name)


class Site:
    """One database: ``connection`` to look and to prepare with, ``app`` and its ``tasks`` to enqueue with."""

    def __init__(self, ground: Ground, url: str, connection: Any, app: Penstock, tasks: Tasks) -> None:
        self.ground = ground
        self.tasks = tasks
        self.url = url
        self.connection = connection
        self.app = app
        self.settings = ground.settings

    @asynccontextmanager
    async def fleet(self, *only: str) -> AsyncIterator[Fleet]:
        """A real supervisor, here, and its real runner process; serving when this is entered."""
        async with ready(Fleet(settings=self.settings, url=self.url, app=APP, only=only)) as fleet:
            yield fleet


@asynccontextmanager
async def ready(fleet: Fleet) -> AsyncIterator[Fleet]:
    """Runs until the block ends; serving when it is entered."""
    running = asyncio.create_task(fleet.run())
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not fleet.supervisor.ready:
                if running.done():
                    running.result()
                await asyncio.sleep(0.02)
        yield fleet
    finally:
        fleet.stop()
        await running


@asynccontextmanager
async def opened(given: Settings, tell: Callable[[str], None]) -> AsyncIterator[Ground]:
    """``given`` are the user's settings; the benches change only what would blur the figures."""
    settings = given.model_copy(update={"runners": 1, "log_level": "warning", "profile": "event"})
    folder = _new_folder()
    try:
        if settings.url is not None:
            yield Ground(settings, settings.url, folder, tell, embedded=False)
            return
        home = settings.home or folder / "home"
        server = await asyncio.to_thread(embedded.acquire, home, settings=_SERVER_SETTINGS)
        try:
            yield Ground(settings, server.url, folder, tell, embedded=True)
        finally:
            await asyncio.to_thread(server.release)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _new_folder() -> Path:
    """Not in the usual temporary folder: as root, the server's user may not be able to pass through that."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-", dir="/tmp"))
    folder.chmod(0o711)
    return folder


@asynccontextmanager
async def connected(settings: Settings, url: str) -> AsyncIterator[Any]:
    connection = await database.connect(settings, url, purpose="bench")
    try:
        with database.translated(url):
            yield connection
    finally:
        connection.terminate()
