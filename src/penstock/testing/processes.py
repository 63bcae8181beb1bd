"""Worker process trees that a test starts, and may kill, freeze and thaw. Never touches a process it did not start."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import psutil

from penstock.errors import PenstockError

_POLL_SECONDS = 0.01


class NotInTime(PenstockError):
    """What a test waited for did not happen; says what, and shows the last lines of the worker's log."""

    def __init__(self, *, what: str, seconds: float, log: str = "") -> None:
        shown = f" Its log ends with:\n{log}" if log else ""
        super().__init__(f"{what} did not happen within {seconds:g} s.{shown}")


def wait_until(condition: Callable[[], bool], *, what: str, seconds: float, log: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise NotInTime(what=what, seconds=seconds, log=log())
        time.sleep(_POLL_SECONDS)


class Process(Protocol):
    """What a tree needs of ``subprocess.Popen``."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class WorkerTree:
    """One supervisor with its runners. Starts at construction; its log is a file, which tells when it is ready."""

    def __init__(
        self,
        app: str,
        *,
        url: str,
        log: Path,
        environment: Mapping[str, str] | None = None,
        path: Sequence[str] = (),
        start: Callable[..., Process] = subprocess.Popen,
    ) -> None:
        """``path``: further folders to import ``app`` from. ``start`` is called as ``subprocess.Popen`` is."""
        self.log = log
        given = {
            **os.environ,
            "PENSTOCK_LOG_FORMAT": "json",
            **(environment or {}),
            "PENSTOCK_DATABASE_URL": url,
            "PYTHONPATH": os.pathsep.join((*path, *filter(None, (os.environ.get("PYTHONPATH"),)))),
        }
        with log.open("ab") as writing:
            self._process = start(
                [sys.executable, "-m", "penstock.testing.worker_main", app],
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                # A group of its own: Ctrl-C in the test run is not for the worker.
                start_new_session=True,
            )
        self._supervisor = psutil.Process(self._process.pid)
        self._known: dict[int, psutil.Process] = {}

    # ---------------------------------------------------------------- looking

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def runners(self) -> list[psutil.Process]:
        """The runner processes that live now, oldest first."""
        below = self._descendants()
        self._known.update({child.pid: child for child in below})
        found = [child for child in below if _is_runner(child, self.pid)]
        return sorted(found, key=lambda child: child.create_time())

    def events(self, name: str) -> int:
        """How often the log names this event."""
        return self.text().count(f'"event":"{name}"')

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tail(self) -> str:
        return "\n".join(self.text().splitlines()[-15:])

    def wait_ready(self, seconds: float = 60.0, *, starts: int = 1) -> None:
        """Until a runner has said so, for the ``starts``-th time."""
        wait_until(
            lambda: self.events("worker.started") >= starts or not self.alive,
            what=f"start {starts} of a runner",
            seconds=seconds,
            log=self.tail,
        )
        if not self.alive:
            raise NotInTime(what="the start of the worker (it ended)", seconds=seconds, log=self.tail())

    # ---------------------------------------------------------------- faults

    def kill(self) -> None:
        """kill -9 of the supervisor and every process under it, at once: a machine that loses power."""
        victims = [*self._descendants(), self._supervisor]
        _signal(victims, signal.SIGKILL)
        self._process.wait(60)

    def kill_supervisor(self) -> None:
        """kill -9 of the supervisor alone; its runners have to notice by themselves."""
        self.runners()
        self._process.kill()
        self._process.wait(60)

    def kill_runner(self) -> int | None:
        """kill -9 of the oldest runner; its pid, or None where there is none at the moment."""
        for runner in self.runners():
            _signal([runner], signal.SIGKILL)
            return runner.pid
        return None

    def freeze(self) -> None:
        """SIGSTOP of the whole tree: a machine that sleeps, a container that is paused."""
        freeze([self._supervisor, *self._descendants()])

    def freeze_supervisor(self) -> None:
        freeze([self._supervisor])

    def freeze_runners(self) -> None:
        freeze(self.runners())

    def thaw(self) -> None:
        _signal([*self._descendants(), self._supervisor], signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM: the polite end."""
        self._process.terminate()

    def wait_ended(self, seconds: float) -> int:
        wait_until(lambda: not self.alive, what="the end of the worker", seconds=seconds, log=self.tail)
        code = self._process.wait()
        return code

    def close(self) -> None:
        """Ends whatever is left of the tree. A runner may outlive its killed supervisor by a moment."""
        known = {**self._known, **{one.pid: one for one in self._descendants()}}
        _signal([self._supervisor, *known.values()], signal.SIGCONT)
        _signal([self._supervisor, *known.values()], signal.SIGKILL)
        self._process.wait(60)

    def _descendants(self) -> list[psutil.Process]:
        try:
            return self._supervisor.children(recursive=True)
        except psutil.NoSuchProcess:
            return []


def _is_runner(child: psutil.Process, supervisor: int) -> bool:
    """Forked by the nursery, which is the supervisor's own child and has the same command line."""
    try:
        return (
            "penstock.fleet.nursery" in child.cmdline()
            and child.ppid() != supervisor
            and child.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.NoSuchProcess:
        return False


def freeze(processes: Sequence[psutil.Process]) -> None:
    """SIGSTOP. Returns when every thread stands still: one that runs on another core, or is inside a system call, goes
    on for a moment."""
    _signal(processes, signal.SIGSTOP)
    wait_until(lambda: all(_stands_still(process) for process in processes), what="the freeze", seconds=60)


def _stands_still(process: psutil.Process) -> bool:
    try:
        threads = [psutil.Process(thread.id) for thread in process.threads()]
        return all(one.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE) for one in (process, *threads))
    except psutil.NoSuchProcess:
        return not process.is_running()


def _signal(processes: Sequence[psutil.Process], number: int) -> None:
    """psutil compares the start time first, so a pid that was given to somebody else is left alone."""
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
