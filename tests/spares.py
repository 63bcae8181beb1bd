"""Processes that a warm supervisor keeps ready for what it will start: its nursery, its service, the check of its app.

They are forked before the supervisor does anything, so they hold nothing of it; each becomes the first process of its
kind, with the arguments, environment and files that the supervisor gives. Whatever is started again starts cold.
"""

import asyncio
import ctypes
import fcntl
import importlib
import inspect
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import orjson

NURSERY = "penstock.fleet.nursery"
SERVICE = "penstock.cli.service_main"
APP_CHECK = "penstock.cli.app_check"
_KEPT = {
    "penstock.testing.worker_main": (NURSERY,),
    "up": (APP_CHECK, NURSERY, SERVICE),
    "worker": (APP_CHECK, NURSERY),
}
# A last argument that nobody reads: room for longer command lines.
ROOM = "-" * 1000
_MOST_BYTES = 1 << 20
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_PR_SET_PDEATHSIG = 1
_ARG_START, _ARG_END = 45, 46  # in /proc/self/stat, behind the name


class _Spare:
    """The supervisor's side of one process."""

    def __init__(self, module: str) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        supervisor = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            self._line.close()
            _wait_and_become(module, theirs, supervisor)
        theirs.close()

    def begin(self, arguments: Sequence[str], env: dict[str, str], files: Sequence[tuple[int, int]]) -> None:
        """``files``: pairs of the number here and the number there."""
        order = {"arguments": arguments, "env": env, "numbers": [there for _, there in files]}
        with self._line as line:
            socket.send_fds(line, [orjson.dumps(order)], [here for here, _ in files])


def keep_for(module: str, arguments: Sequence[str]) -> None:
    """Only what it is going to start: a process that is never used would be one too many in its tree."""
    kept = _KEPT.get(module) or _KEPT.get(arguments[0] if arguments else "", ())
    if not kept:
        return
    spares = {name: _Spare(name) for name in kept}
    _use_in_popen(spares)
    _use_in_asyncio(spares)


def _module_of(command: Any) -> str:
    return command[2] if list(command[:2]) == [sys.executable, "-m"] else ""


def _use_in_popen(spares: dict[str, _Spare]) -> None:
    cold = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    parameters = inspect.signature(cold)

    def execute(self: Any, *values: Any) -> None:
        given = parameters.bind(self, *values).arguments
        spare = spares.pop(_module_of(given["args"]), None)
        if spare is None:
            cold(self, *values)
            return
        standard = enumerate((given["p2cread"], given["c2pwrite"], given["errwrite"]))
        files = [(there if here < 0 else here, there) for there, here in standard]
        files += [(number, number) for number in given["pass_fds"]]
        spare.begin(given["args"][3:], given["env"] or dict(os.environ), files)
        self.pid = spare.pid
        self._child_created = True
        self._close_pipe_fds(*(given[name] for name in _PIPES))

    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]


class _InAsyncio:
    """As much of ``asyncio.subprocess.Process`` as the supervisor uses."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.pid = process.pid
        self._ended = asyncio.Event()
        loop, handle = asyncio.get_running_loop(), os.pidfd_open(process.pid)

        def note_end() -> None:
            loop.remove_reader(handle)
            os.close(handle)
            process.wait()
            self._ended.set()

        loop.add_reader(handle, note_end)

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        await self._ended.wait()
        return self._process.returncode

    async def communicate(self) -> tuple[bytes, None]:
        """What it says fits into a pipe."""
        await self.wait()
        assert self._process.stdout is not None
        with self._process.stdout as said:
            return said.read(), None


def _use_in_asyncio(spares: dict[str, _Spare]) -> None:
    cold = asyncio.create_subprocess_exec

    async def execute(*command: str, **options: Any) -> Any:
        if _module_of(command) not in spares:
            return await cold(*command, **options)
        return _InAsyncio(subprocess.Popen(command, **options))

    asyncio.create_subprocess_exec = execute  # type: ignore[assignment]


# ---------------------------------------------------------------- the process itself


def _wait_and_become(module: str, line: socket.socket, supervisor: int) -> NoReturn:
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # What is sent to the supervisor's group is not for a process that is not there yet.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        text, files, _, _ = socket.recv_fds(line, _MOST_BYTES, 64)
        if not text or os.getppid() != supervisor:
            os._exit(0)
        order = orjson.loads(text)
        _take(files, order["numbers"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = [module, *order["arguments"]]
        name_process(["-m", *sys.argv])
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # From here on it is for the module itself to end with its supervisor.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)
        importlib.import_module(module).main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    os._exit(0)


def _take(files: Sequence[int], numbers: Sequence[int]) -> None:
    """Gives them the numbers they have in the supervisor, and closes everything else."""
    above = max((*files, *numbers)) + 1
    high = [fcntl.fcntl(number, fcntl.F_DUPFD, above) for number in files]
    for number, wanted in zip(high, numbers, strict=True):
        os.dup2(number, wanted)
    for number in {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, *numbers}:
        with suppress(OSError):  # the one that listed them
            os.close(number)


def name_process(arguments: Sequence[str]) -> None:
    """What ``ps`` and psutil show: tests find processes by that."""
    behind_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(behind_name[_ARG_START]), int(behind_name[_ARG_END])
    shown = b"\0".join(os.fsencode(one) for one in (sys.executable, *arguments))
    ctypes.memmove(start, shown.ljust(end - start, b"\0")[: end - start], end - start)
