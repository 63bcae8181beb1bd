import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import embedded
from tests.crash.embedded.user_process import UserProcess, kill_all, server_processes


def _quick_disk() -> Path:
    """In memory where there is room: a database is a thousand files and more, and every test gets its own."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > 2 * 1024**3
    return memory if has_room else Path("/tmp")


@contextmanager
def reachable_folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="penstock-test-", dir=_quick_disk()))
    path.chmod(0o711)
    try:
        yield path
    finally:
        kill_all(server_processes(path))
        shutil.rmtree(path)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not pytest's own temporary folder: as root, the server's user could not pass through that one."""
    with reachable_folder() as made:
        yield made


@pytest.fixture(scope="session")
def made_once() -> Iterator[Path]:
    """A home whose database has been created, and whose server is stopped."""
    with reachable_folder() as made:
        embedded.acquire(made / "home").release()
        yield made / "home"


@pytest.fixture
def home(folder: Path, made_once: Path) -> Path:
    """A copy of it: most tests need a database and not the second it takes to create one."""
    copy = folder / "home"
    subprocess.run(["cp", "-a", made_once, copy], check=True)
    return copy


@pytest.fixture
def start_user() -> Iterator[Callable[..., UserProcess]]:
    started: list[UserProcess] = []

    def start(home: Path | None, **options: Any) -> UserProcess:
        started.append(UserProcess(home, **options))
        return started[-1]

    yield start
    for user in started:
        user.close()
