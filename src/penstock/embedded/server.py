"""Who uses the server, who starts it, and who stops it.

Two files in ``home/run``, locked with ``flock``:

``users.lock``   held *shared* by every process that uses the server; the kernel drops it with the process
``start.lock``   held *exclusively* by whoever is starting or stopping the server

The last one out can lock ``users.lock`` exclusively, and stops the server. If everybody was killed, the
server goes on without users; the next to arrive uses it, and the last of those to leave stops it.

A forked child (``multiprocessing`` with ``fork``) inherits the lock and keeps it until it ends, but cannot
release it: the handle belongs to the process that acquired it. ``subprocess`` passes nothing on.
"""

import atexit
import fcntl
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from penstock.errors import EmbeddedServerError

from . import cluster, locks, postmaster
from .account import server_account
from .cluster import DATABASE, ROLE
from .home import Home, default_home, prepare_home
from .postmaster import Postmaster

LOCK_TIMEOUT_SECONDS = 60


class _Membership:
    """This process's shared lock, and the knowledge of whether it has been given back."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.process = os.getpid()
        self.guard = threading.Lock()
        self.descriptor: int | None = None

    def join(self) -> None:
        """With the start lock held, so that nobody can be taking the server down."""
        descriptor = locks.open_lock_file(self.home.users_lock)
        try:
            locks.wait_for_lock(descriptor, fcntl.LOCK_SH, timeout_seconds=LOCK_TIMEOUT_SECONDS)
        except BaseException:
            os.close(descriptor)
            raise
        self.descriptor = descriptor

    def leave(self) -> None:
        """A home that was deleted has nothing left to stop: its server notices within a minute and ends."""
        with self.guard:
            descriptor, self.descriptor = self.descriptor, None
        if descriptor is None:
            return
        try:
            if os.getpid() == self.process and self.home.start_lock.exists():
                self._leave_and_close_up(descriptor)
        finally:
            os.close(descriptor)

    def _leave_and_close_up(self, descriptor: int) -> None:
        """The lock is dropped even if the server cannot be stopped: nobody should wait for us."""
        try:
            with _starting_or_stopping(self.home):
                locks.unlock(descriptor)
                if locks.try_lock(descriptor, fcntl.LOCK_EX):
                    postmaster.stop(self.home)
        finally:
            locks.unlock(descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedServer:
    """One process's handle on the shared server. It is released when the process ends, at the latest."""

    url: str
    home: Path
    _membership: _Membership = field(repr=False, compare=False)
    _settings: Mapping[str, str] = field(repr=False, compare=False)

    def ensure_running(self) -> bool:
        """After a lost connection: start the server again if it died. True if it had to be started."""
        home = self._membership.home
        if self._membership.descriptor is None:
            raise EmbeddedServerError(what="this handle was released", next_step="Acquire the server again.")
        with _sentences_for(home.path):
            return _serving(home, self._settings)[0]

    def release(self) -> None:
        """Give the server up; the last one out stops it. Once more, or in a forked child, it does nothing."""
        atexit.unregister(self.release)
        with _sentences_for(self.home):
            self._membership.leave()


def acquire(home: Path | None = None, *, settings: Mapping[str, str] | None = None) -> EmbeddedServer:
    """Use the server of ``home``, starting it if nobody has, and creating it if it never was.

    ``settings`` apply when this call is the one that starts the server; a running one is used as it is.
    """
    wanted = dict(settings or {})
    cluster.check_overrides(wanted)
    account = server_account()
    chosen = default_home() if home is None else home
    with _sentences_for(chosen):
        prepared = prepare_home(chosen, account)
        membership = _Membership(prepared)
        try:
            with _starting_or_stopping(prepared):
                membership.join()
            running = _serving(prepared, wanted)[1]
        except BaseException:
            with suppress(EmbeddedServerError):
                membership.leave()
            raise
    server = EmbeddedServer(
        url=_url(running.socket_folder), home=prepared.path, _membership=membership, _settings=wanted
    )
    atexit.register(server.release)
    return server


def _serving(home: Home, settings: Mapping[str, str]) -> tuple[bool, Postmaster]:
    """(whether it had to be started, the server that answers)."""
    if not _start(home, settings):
        # One that was there may have been about to end: of a full disk, say, that has room again by now.
        with suppress(EmbeddedServerError):
            return False, postmaster.wait_until_ready(home)
        if not _start(home, settings):
            return False, postmaster.wait_until_ready(home)
    return True, postmaster.wait_until_ready(home)


def _start(home: Home, settings: Mapping[str, str]) -> bool:
    with _starting_or_stopping(home):
        return postmaster.ensure_started(home, settings)


def _url(socket_folder: Path) -> str:
    """With the port, because PGPORT in the environment would change the name of the socket."""
    return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(socket_folder))}&port=5432"


@contextmanager
def _starting_or_stopping(home: Home) -> Iterator[None]:
    try:
        with locks.exclusive(home.start_lock, timeout_seconds=LOCK_TIMEOUT_SECONDS):
            yield
    except locks.LockTimeout:
        raise EmbeddedServerError(
            what=f"another Penstock process has been starting or stopping the server in {home.path} "
            f"for more than {LOCK_TIMEOUT_SECONDS} s",
            next_step=f"Try again; if it stays so, find the process that holds {home.start_lock} and end it.",
        ) from None


@contextmanager
def _sentences_for(home: Path) -> Iterator[None]:
    """A full or read-only disk shows up as an OSError anywhere: say it in terms of the folder."""
    try:
        yield
    except OSError as error:
        raise EmbeddedServerError(
            what=f"the folder {home} cannot be used: {error.strerror or error} ({error.filename or home})",
            next_step="Check free space and permissions there, or set PENSTOCK_HOME to another folder.",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise EmbeddedServerError(
            what=f"the folder {home} cannot be used: {error.cmd[0]} did not end in {error.timeout} s",
            next_step="See whether its disk answers, or set PENSTOCK_HOME to another folder.",
        ) from error
