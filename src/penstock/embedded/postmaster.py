"""The server process: find it, start it, wait for it, stop it.

Everything here that starts or stops is called with the start lock held.
"""

import signal
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EmbeddedServerError

from . import cluster, installation, processes
from .home import SOCKET_NAME, Home

READY_TIMEOUT_SECONDS = 300
"""Recovery after a crash may take a while; a server that gives up is noticed at once."""
PID_FILE_SECONDS = 30
FAST_STOP_SECONDS = 40
IMMEDIATE_STOP_SECONDS = 10
ORPHAN_PATIENCE_SECONDS = 2
SHARED_MEMORY_IN_USE = "pre-existing shared memory block"
SHARED_MEMORY_PATIENCE_SECONDS = 10
"""Orphans that cannot be found (no /proc, another container) end by themselves after their last statement."""
STARTUP_LOG = "startup.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmaster:
    """What ``postmaster.pid`` says, once it is known to be true."""

    pid: int
    socket_folder: Path
    status: str


def find(home: Home) -> Postmaster | None:
    """The running server, or None when the pid file is missing or left over from a killed one.

    A server that answers on its socket counts as well, even if its pid means nothing here: it may have been
    started in another container on the same folder, and a second one would destroy the data.
    """
    noted = _read_pid_file(home.data)
    if noted is None:
        return None
    if processes.is_postgres_of(noted.pid, home.data) or socket_answers(noted.socket_folder):
        return noted
    return None


def _read_pid_file(data: Path) -> Postmaster | None:
    """Lines: pid, data folder, start time, port, socket folder, listen address, shared memory key, status."""
    try:
        lines = (data / "postmaster.pid").read_text(errors="surrogateescape").splitlines()
        pid = abs(int(lines[0]))
    except (FileNotFoundError, ValueError, IndexError):
        return None
    folder = lines[4] if len(lines) > 4 else ""
    status = lines[7].strip() if len(lines) > 7 else "starting"
    return Postmaster(pid=pid, socket_folder=Path(folder or "/nonexistent"), status=status)


def ensure_started(home: Home, settings: Mapping[str, str]) -> bool:
    """Start the server unless a usable one runs; say whether that was necessary.

    One that is shutting down, or whose socket was deleted, cannot take new connections: it is replaced.
    """
    running = find(home)
    if running is not None and _is_usable(running):
        return False
    if running is not None:
        stop(home)
    _start(home, settings)
    return True


def _is_usable(running: Postmaster) -> bool:
    match running.status:
        case "starting":
            return True
        case "ready":
            return socket_answers(running.socket_folder)
        case _:
            return False


def _start(home: Home, settings: Mapping[str, str]) -> None:
    installed = installation.binaries_for(home)
    cluster.ensure_cluster(home, installed)
    processes.end_all(processes.working_in(home.data), patience_seconds=ORPHAN_PATIENCE_SECONDS)
    home.make_socket_folder()
    _remove_stale_files(home)
    cluster.write_settings(home, settings)
    deadline = time.monotonic() + SHARED_MEMORY_PATIENCE_SECONDS
    while not _launch(home, installed):
        if SHARED_MEMORY_IN_USE not in _text(home.logs / STARTUP_LOG) or time.monotonic() > deadline:
            raise _failure(home, "the server ended while starting")
        time.sleep(0.5)


def _remove_stale_files(home: Home) -> None:
    """Their pid may by now belong to another process, and PostgreSQL would take that for a running server."""
    (home.data / "postmaster.pid").unlink(missing_ok=True)
    (home.socket_folder / SOCKET_NAME).unlink(missing_ok=True)
    (home.socket_folder / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)


def _launch(home: Home, installed: Path) -> bool:
    """Through a shell that leaves at once: the server is nobody's child, so no process has to reap it, and a
    supervisor that ends its children does not end the database. True once its pid file shows up.
    """
    fixed = cluster.fixed_settings(home.socket_folder)
    options = [part for name, value in fixed.items() for part in ("-c", f"{name}={value}")]
    leave_running = 'log=$1; shift; "$@" </dev/null >"$log" 2>&1 & echo $!'
    _, pid = home.account.run_script(
        leave_running, home.logs / STARTUP_LOG, installed / "bin" / "postgres", "-D", home.data, *options
    )
    if not pid.isdigit():
        raise _failure(home, f"the server could not be started: {pid}")
    processes.wait_until(
        lambda: find(home) is not None or not processes.is_alive(int(pid)), timeout_seconds=PID_FILE_SECONDS
    )
    return find(home) is not None


def wait_until_ready(home: Home) -> Postmaster:
    """Needs no lock: several processes may wait for the same start.

    It looks less and less often, because a recovering server logs every connection that it refuses.
    """
    began = time.monotonic()
    while (found := find(home)) is None or not _is_ready(found):
        if found is None:
            raise _failure(home, "the server ended while starting")
        waited = time.monotonic() - began
        if waited > READY_TIMEOUT_SECONDS:
            raise _failure(home, f"the server (pid {found.pid}) is not ready after {READY_TIMEOUT_SECONDS} s")
        time.sleep(min(0.5, max(processes.POLL_SECONDS, waited / 10)))
    return found


def _is_ready(running: Postmaster) -> bool:
    return running.status == "ready" and takes_connections(
        running.socket_folder, role=cluster.ROLE, database=cluster.DATABASE
    )


def stop(home: Home) -> None:
    """Fast: clients are disconnected and a checkpoint is written. If that takes too long, immediate, which
    costs nothing but a recovery at the next start.
    """
    running = find(home)
    if running is None or not processes.is_postgres_of(running.pid, home.data):
        return
    for number, patience in ((signal.SIGINT, FAST_STOP_SECONDS), (signal.SIGQUIT, IMMEDIATE_STOP_SECONDS)):
        processes.send(running.pid, number)
        if processes.wait_until(lambda: not processes.is_alive(running.pid), timeout_seconds=patience):
            home.remove_outside_socket_folder()
            return
    raise _failure(home, f"the server (pid {running.pid}) does not stop")


def _failure(home: Home, problem: str) -> EmbeddedServerError:
    lines, log = _last_words(home.logs)
    return EmbeddedServerError(
        what=f"{problem}; last lines of its log: {lines}",
        next_step=f"The whole log is {log}.",
    )


def _last_words(logs: Path) -> tuple[str, Path]:
    """Until it has read its settings the server writes to the start-up log, then to that of the day."""
    log = logs / STARTUP_LOG
    if "logging collector" in _text(log):
        log = max(logs.glob("postgresql-*.log"), key=lambda path: path.stat().st_mtime_ns, default=log)
    lines = [line.strip() for line in _text(log).splitlines() if line.strip()]
    return " / ".join(lines[-6:]) or "(empty)", log


def _text(log: Path) -> str:
    try:
        return log.read_text(errors="replace")
    except FileNotFoundError:
        return ""


PROTOCOL_3 = 196608
TERMINATE = b"X\0\0\0\4"
CANNOT_CONNECT_NOW = b"C57P03\0"
TIMEOUT_SECONDS = 5


def socket_answers(folder: Path) -> bool:
    """Somebody listens there. A frozen server counts: its queue for new connections is full, or will be."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(TIMEOUT_SECONDS)
        try:
            client.connect(str(folder / SOCKET_NAME))
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def takes_connections(folder: Path, *, role: str, database: str) -> bool:
    """False while the server is starting, recovering or stopping. Other refusals are the client's to read."""
    fields = "".join(f"{name}\0{value}\0" for name, value in (("user", role), ("database", database)))
    body = struct.pack("!I", PROTOCOL_3) + fields.encode() + b"\0"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(TIMEOUT_SECONDS)
        try:
            client.connect(str(folder / SOCKET_NAME))
            client.sendall(struct.pack("!I", len(body) + 4) + body)
            reply = client.recv(8192)
            client.sendall(TERMINATE)
        except OSError:
            return False
    return bool(reply) and CANNOT_CONNECT_NOW not in reply
