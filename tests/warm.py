"""Starts `penstock …` as processes that need not import anything.

Importing is most of what a command costs, and the tests call hundreds of them. ``python -m tests.warm`` imports the
commands once and forks a process for each call, with the arguments, environment and files of that call. Cold starts
have tests of their own.
"""

import array
import atexit
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
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TypedDict

import orjson

ROOT = Path(__file__).resolve().parents[1]
_MOST_BYTES = 1 << 20
_ANSWER = 4


class Request(TypedDict):
    arguments: list[str]
    env: dict[str, str]


class WarmStarts:
    """``run`` calls a command and waits for its end."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._path = tempfile.mktemp(prefix="penstock-warm-", dir="/tmp")
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", self._path],
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
            line = stack.enter_context(socket.socket(socket.AF_UNIX))
            given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(text.encode())
            given.seek(0)
            line.connect(self._path)
            files = array.array("i", [one.fileno() for one in (given, out, err)])
            request = orjson.dumps({"arguments": arguments, "env": dict(env)})
            line.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            line.shutdown(socket.SHUT_WR)
            pid = _number(line)
            line.settimeout(seconds)
            try:
                code = _number(line)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(arguments, seconds, _text(out), _text(err)) from None
            return subprocess.CompletedProcess(arguments, code, _text(out), _text(err))

    def close(self) -> None:
        assert self._parent.stdin is not None and self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.stdout.close()
        self._parent.wait(60)
        Path(self._path).unlink(missing_ok=True)


def _number(line: socket.socket) -> int:
    answer = line.recv(_ANSWER, socket.MSG_WAITALL)
    assert len(answer) == _ANSWER, "the process that starts commands has ended"
    return int.from_bytes(answer, "big", signed=True)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


# ---------------------------------------------------------------- the process that forks


def _import_commands() -> None:
    for package in ("penstock.cli", "penstock.service", "penstock.apps"):
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not module.name.endswith(("__main__", "service_main")):
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
                    continue
                line, _ = listening.accept()
                request, files = _request(line)
                if (pid := os.fork()) == 0:
                    signal.set_wakeup_fd(-1)
                    for one in (line, ended, notice, *running.values()):
                        one.close()
                    return _become(request, files)
                for number in files:
                    os.close(number)
                line.sendall(pid.to_bytes(_ANSWER, "big", signed=True))
                running[pid] = line


def _request(line: socket.socket) -> tuple[Request, list[int]]:
    line.setblocking(True)
    text, files, _, _ = socket.recv_fds(line, _MOST_BYTES, 3)
    while more := line.recv(_MOST_BYTES):
        text += more
    return orjson.loads(text), list(files)


def _become(request: Request, files: list[int]) -> Request:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in zip(files, range(3), strict=True):
        os.dup2(number, file)
        os.close(number)
    return request


def _tell_ends(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as line:
            with suppress(OSError):  # where nobody waits for it any more
                line.sendall(os.waitstatus_to_exitcode(status).to_bytes(_ANSWER, "big", signed=True))


def _ended(request: Request) -> int:
    """The exit code of the command."""
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["penstock", *request["arguments"]]
    try:
        runpy.run_module("penstock.cli", run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    _import_commands()
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
