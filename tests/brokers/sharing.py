"""One broker of a kind per test run, shared by the processes of pytest-xdist.

The first process that asks starts it, the last one that is done ends it, and both hold a lock while they look. What a
killed run left running is ended by the next run.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from penstock.testing.brokers import Server

_PREFIX = "penstock-brokers-"


def run_folder() -> Path:
    """The same for all processes of a run. xdist names its run; without xdist there is only this process."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    owner = os.getppid() if run else os.getpid()
    folder = Path(f"/tmp/{_PREFIX}{owner}-{run or 'alone'}")
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def shared(made: Callable[[Path], Server], name: str) -> Iterator[str]:
    """The address of the run's server of this kind."""
    folder = run_folder() / f"shared-{name}"
    folder.mkdir(exist_ok=True)
    mine = folder / f"user-{uuid4().hex}"
    with _locked(folder):
        mine.touch()
        if not (folder / "url").exists():
            end_leftovers()
            server = made(folder / "server")
            server.start()
            server.leave()
            (folder / "url").write_text(server.url)
    try:
        yield (folder / "url").read_text()
    finally:
        with _locked(folder):
            mine.unlink()
            if not list(folder.glob("user-*")):
                _end(folder / "server")
                (folder / "url").unlink()


def end_leftovers() -> None:
    """Of runs whose first process is gone."""
    for folder in Path("/tmp").glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            for pids in list(folder.glob("**/pids")):
                _end(pids.parent)
            shutil.rmtree(folder, ignore_errors=True)


def _end(folder: Path) -> None:
    """The processes that were started for this folder. A number that by now belongs to another process is left alone:
    ours work in the folder."""
    for line in (folder / "pids").read_text().split():
        if _belongs(int(line), folder):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(line), signal.SIGKILL)
        while _belongs(int(line), folder):
            time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)


def _belongs(pid: int, folder: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == folder
    except OSError:
        return False


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
