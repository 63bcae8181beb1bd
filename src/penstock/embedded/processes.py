"""What the operating system knows about a process: alive, whose, working where.

A pid alone proves nothing: after a crash or a reboot it may belong to somebody else. A PostgreSQL process
works in its data folder, so program and working directory together identify it. Without ``/proc`` (macOS) the
command line of the postmaster has to do, and orphans cannot be found.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
HAS_PROC = (PROC / "self" / "stat").exists()
POLL_SECONDS = 0.02


def is_alive(pid: int) -> bool:
    """A zombie counts as dead: in a container whose first process reaps nobody, a killed server stays one."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    if not HAS_PROC:
        return _ps(pid, "stat").startswith("Z")
    try:
        state = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state in "ZX"


def _ps(pid: int, column: str) -> str:
    command = ["ps", "-ww", "-p", str(pid), "-o", f"{column}="]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def is_postgres_of(pid: int, data: Path) -> bool:
    if not is_alive(pid):
        return False
    if not HAS_PROC:
        command = _ps(pid, "command")
        return "postgres" in command and str(data) in command
    return _works_in(pid, data) and _program(pid) == "postgres"


def working_in(folder: Path) -> list[int]:
    """Processes of PostgreSQL (server or initdb) whose working directory is ``folder``."""
    if not HAS_PROC:
        return []
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _works_in(pid, folder) and _program(pid) in ("postgres", "initdb")]


def _works_in(pid: int, folder: Path) -> bool:
    """By device and inode, so that links and renamed folders do not matter."""
    try:
        return os.path.samestat((PROC / str(pid) / "cwd").stat(), folder.stat())
    except OSError:
        return False


def _program(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(PROC / str(pid) / "exe").removesuffix(" (deleted)"))
    except OSError:
        return ""


def end_all(pids: Iterable[int], *, patience_seconds: float) -> None:
    """Leave them time to go by themselves, then kill: stopped ones, too, which no softer signal reaches."""
    remaining = list(pids)
    if wait_until(lambda: not any(map(is_alive, remaining)), timeout_seconds=patience_seconds):
        return
    for pid in filter(is_alive, remaining):
        send(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, remaining)), timeout_seconds=10)


def send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(condition: Callable[[], bool], *, timeout_seconds: float) -> bool:
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
