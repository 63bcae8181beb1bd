"""Starts `python -m penstock…` as processes that need not import anything.

Importing is most of what a command costs, and the tests start hundreds of them. ``python -m tests.warm`` imports
everything once and forks a process for each start, with the arguments, environment and files of that start. What a
supervisor starts in its turn comes from ``tests/spares.py``. Cold starts have tests of their own.
"""

import array
import atexit
import functools
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TypedDict

import orjson

from tests import spares

ROOT = Path(__file__).resolve().parents[1]
_MOST_BYTES = 1 << 20
_NUMBER = 4


class Request(TypedDict):
    module: str
    arguments: list[str]
    env: dict[str, str]
    folder: str
    group: bool


class WarmProcess:
    """As much of ``subprocess.Popen`` as tests use. It stays a zombie until somebody has asked for its end."""

    def __init__(self, line: socket.socket, arguments: Sequence[str]) -> None:
        self._line = line
        self.args = arguments
        self.pid = _number(line)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._line.settimeout(timeout)
            try:
                self.returncode = _number(self._line)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._line.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class WarmStarts:
    """``run`` calls a command and waits for its end, ``start`` leaves it running."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._path = tempfile.mktemp(prefix="penstock-warm-", dir="/tmp")
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", self._path, spares.ROOM],
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._parent.stdout is not None
        assert self._parent.stdout.readline() == b"ready\n"

    def run(
        self, arguments: list[str], *, env: Mapping[str, str], seconds: float = 60, text: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """``text`` is what it can read from its standard input."""
        with ExitStack() as stack:
            given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(text.encode())
            given.seek(0)
            process = self._begin("penstock.cli", arguments, env, ROOT, (given, out, err), group=False)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise subprocess.TimeoutExpired(arguments, seconds, _text(out), _text(err)) from None
            return subprocess.CompletedProcess(arguments, code, _text(out), _text(err))

    def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        stdout: IO[bytes],
        stderr: IO[bytes],
        cwd: str | Path = ROOT,
        **_group: object,
    ) -> WarmProcess:
        """In the place of ``subprocess.Popen([sys.executable, "-m", …])``. Always leads a process group of its own."""
        _python, _m, module, *arguments = command
        with open(os.devnull, "rb") as nothing:
            return self._begin(module, arguments, env, cwd, (nothing, stdout, stderr), group=True)

    def _begin(
        self,
        module: str,
        arguments: list[str],
        env: Mapping[str, str],
        folder: str | Path,
        files: Sequence[IO[bytes]],
        *,
        group: bool,
    ) -> WarmProcess:
        request: Request = {
            "module": module,
            "arguments": arguments,
            "env": dict(env),
            "folder": str(folder),
            "group": group,
        }
        text = orjson.dumps(request)
        line = socket.socket(socket.AF_UNIX)
        line.connect(self._path)
        handed = array.array("i", [one.fileno() for one in files])
        line.sendmsg([_packed(len(text))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)])
        line.sendall(text)
        return WarmProcess(line, [module, *arguments])

    def close(self) -> None:
        assert self._parent.stdin is not None and self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.stdout.close()
        self._parent.wait(60)
        Path(self._path).unlink(missing_ok=True)


@functools.cache
def warm_starts() -> WarmStarts:
    """The one of this test process."""
    made = WarmStarts({name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")})
    atexit.register(made.close)
    return made


def _packed(number: int) -> bytes:
    return number.to_bytes(_NUMBER, "big", signed=True)


def _number(line: socket.socket) -> int:
    answer = line.recv(_NUMBER, socket.MSG_WAITALL)
    assert len(answer) == _NUMBER, "the process that starts commands has ended"
    return int.from_bytes(answer, "big", signed=True)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


# ---------------------------------------------------------------- the process that forks


def _import_everything() -> None:
    importlib.import_module("penstock.testing.worker_main")
    for package in ("penstock.cli", "penstock.console", "penstock.extensions"):
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def _serve(path: str) -> Request | None:
    """Returns in each forked process, with what it is to do; None in the parent when its owner has gone."""
    running: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listening, selectors.DefaultSelector() as selector:
        ended, notice = socket.socketpair()
        for one in (listening, ended, notice):
            one.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(notice.fileno(), warn_on_full_buffer=False)
        listening.bind(path)
        listening.listen(16)
        for source in (listening, ended, sys.stdin):
            selector.register(source, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    return None
                if key.fileobj is ended:
                    ended.recv(_MOST_BYTES)
                    _tell_ends(running)
                elif key.fileobj is not listening:
                    # Whoever waited for it knows how it ended, or does not want to know.
                    selector.unregister(key.fileobj)
                    _let_go(key.data, running)
                else:
                    line, _ = listening.accept()
                    request, files = _request(line)
                    if (pid := os.fork()) == 0:
                        signal.set_wakeup_fd(-1)
                        for one in (line, ended, notice, *running.values()):
                            one.close()
                        return _become(request, files)
                    if request["group"]:
                        with suppress(ProcessLookupError, PermissionError):  # whoever of the two comes first
                            os.setpgid(pid, pid)
                    for number in files:
                        os.close(number)
                    running[pid] = line
                    selector.register(line, selectors.EVENT_READ, pid)
                    line.sendall(_packed(pid))


def _request(line: socket.socket) -> tuple[Request, list[int]]:
    line.setblocking(True)
    length, files, _, _ = socket.recv_fds(line, _NUMBER, 3)
    text = line.recv(int.from_bytes(length, "big", signed=True), socket.MSG_WAITALL)
    return orjson.loads(text), list(files)


def _become(request: Request, files: list[int]) -> Request:
    if request["group"]:
        os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in zip(files, range(3), strict=True):
        os.dup2(number, file)
        os.close(number)
    os.chdir(request["folder"])
    return request


def _tell_ends(running: dict[int, socket.socket]) -> None:
    """They stay zombies: until its end is known to whoever started it, nobody else may get its number."""
    for pid, line in list(running.items()):
        if line.fileno() < 0:
            _let_go(pid, running)
        elif (end := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            code = end.si_status if end.si_code == os.CLD_EXITED else -end.si_status
            with suppress(OSError):
                line.sendall(_packed(code))
                line.shutdown(socket.SHUT_WR)


def _let_go(pid: int, running: dict[int, socket.socket]) -> None:
    running[pid].close()
    if os.waitpid(pid, os.WNOHANG)[0]:
        del running[pid]


def _ended(request: Request) -> int:
    """The exit code of the command."""
    module, env = request["module"], request["env"]
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    spares.keep_for(module, request["arguments"])
    sys.argv = [module, *request["arguments"]]
    spares.name_process(["-m", *sys.argv])
    try:
        if module == "penstock.cli":
            runpy.run_module(module, run_name="__main__")
        else:
            importlib.import_module(module).main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    _import_everything()
    gc.freeze()
    if (wanted := _serve(sys.argv[1])) is not None:
        code = _ended(wanted)
        # As at any end, but for taking every module apart, which takes longer than most commands.
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    Path(sys.argv[1]).unlink(missing_ok=True)
