"""Calls the command line as a user does: as a process, with an environment of its own."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from tests.cli.waiting import wait_until
from tests.warm import WarmProcess, WarmStarts, warm_starts

ROOT = Path(__file__).resolve().parents[2]
Call = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**more: str) -> dict[str, str]:
    """Without the PENSTOCK_ settings of whoever runs the tests. A search on a busy machine waits for its vector."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    return {**clean, "COLUMNS": "100", "PENSTOCK_ARTICLES_QUERY_TIMEOUT_SECONDS": "60", **more}


@contextmanager
def interruptible() -> Iterator[None]:
    """A shell starts background jobs with SIGINT ignored, and so would be what we start; a terminal does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def home() -> Iterator[Path]:
    """For an embedded server of the test's own. Not in pytest's folder: as root, the server could not reach it."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-cli-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder / "home"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def warm() -> WarmStarts:
    return warm_starts()


@pytest.fixture
def call(warm: WarmStarts) -> Call:
    """``call("version", database_url=…)``: runs to its end."""

    def run(*arguments: str, seconds: float = 60, **settings: str) -> "subprocess.CompletedProcess[str]":
        given = {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
        return warm.run(list(arguments), env=environment(**given), seconds=seconds)

    return run


@dataclass
class Background:
    """A command that goes on. It leads a process group of its own, as in a terminal."""

    process: "subprocess.Popen[bytes] | WarmProcess"
    folder: Path
    seen: dict[int, psutil.Process] = field(default_factory=dict)

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def announced(self) -> dict[str, Any]:
        """The JSON document it prints when it works."""
        wait_until(
            lambda: bool(self.stdout) or self.process.poll() is not None,
            what="the announcement",
            log=lambda: self.stderr,
        )
        assert self.stdout, self.stderr
        data: dict[str, Any] = orjson.loads(self.stdout)
        return data

    def interrupt(self) -> None:
        """Ctrl-C: the terminal sends it to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def tree(self) -> list[psutil.Process]:
        """Every process below it."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def ended(self, seconds: float = 60) -> int:
        return self.process.wait(seconds)


@pytest.fixture
def start(tmp_path: Path, warm: WarmStarts) -> Iterator[Callable[..., Background]]:
    """``start("worker", …)``: runs in the background and is ended after the test, whatever happened.

    ``cold=True`` starts it as a shell does; everything else is forked from a process that has imported everything.
    """
    running: list[Background] = []

    def begin(*arguments: str, cold: bool = False, **settings: str) -> Background:
        given = {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
        folder = tmp_path / str(len(running))
        folder.mkdir()
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            command = [sys.executable, "-m", "penstock.cli", *arguments]
            with interruptible():
                process = (subprocess.Popen if cold else warm.start)(
                    command, env=environment(**given), cwd=ROOT, stdout=out, stderr=err, process_group=0
                )
        running.append(Background(process, folder))
        return running[-1]

    yield begin
    for one in running:
        if one.process.poll() is None:
            one.process.terminate()
            try:
                one.process.wait(60)
            except subprocess.TimeoutExpired:
                one.process.kill()
                one.process.wait(60)
