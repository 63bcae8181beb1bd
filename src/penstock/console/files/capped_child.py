"""The process in which files of strangers are parsed. It may run out of memory or crash: only the file is lost.

Started as ``python -P -m penstock.console.files.capped_child FD LIFELINE MEMORY_MB CPU_SECONDS PARSER``.
``PARSER`` is a module with ``serve(order, blob, send)``. What the parser needs is imported before the caps
are set, so that they count the file alone. Imports little on purpose: it starts once per upload.
"""

import fcntl
import importlib
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Protocol

from penstock.console.files.frames import Header, pack, received, unpack
from penstock.console.files.refused import FileRefused

_OPEN_FILES = 32
_WRITTEN_BYTES = 64 * 1024  # its last words go to a file; nothing else is written
_MB = 1024 * 1024

Send = Callable[..., None]


class Parser(Protocol):
    """What a parser module offers. ``send(header, blob=b"")`` may be called any number of times."""

    def serve(self, order: Header, blob: bytes, send: Send) -> None: ...


def main(arguments: list[str]) -> None:
    descriptor, lifeline, memory_mb, cpu_seconds = map(int, arguments[:4])
    _end_with_the_parent(lifeline)
    parser: Parser = importlib.import_module(arguments[4])
    _cap(memory_mb)
    with socket.socket(fileno=descriptor) as channel:
        while (request := _next_request(channel)) is not None:
            _grant_time(cpu_seconds)
            channel.sendall(pack(_answer(parser, request, channel)))


def _end_with_the_parent(lifeline: int) -> None:
    """The kernel sends SIGIO, which ends the process, when the other end of the pipe closes.

    Unlike the signal for the parent's death it does not depend on the thread that started this process, and it needs
    no cooperation of a parser that is busy.
    """
    if not hasattr(fcntl, "F_SETSIG"):
        return  # elsewhere than on Linux the limit of processor time ends it
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGIO)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        sys.exit(1)  # the parent was gone before the signal was asked for


def _cap(memory_mb: int) -> None:
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_FSIZE, _WRITTEN_BYTES)
    _limit(resource.RLIMIT_AS, _address_space_bytes() + memory_mb * _MB)


def _limit(which: int, most: int) -> None:
    """Never above what this process was already allowed: raising a hard limit is refused."""
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(which, (most, most))


def _address_space_bytes() -> int:
    """What interpreter and libraries take before any file is opened."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 512 * _MB  # no /proc: generous for the interpreter


def _grant_time(cpu_seconds: int) -> None:
    """Per request, as the process may serve many."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    until = int(usage.ru_utime + usage.ru_stime) + 1 + cpu_seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (until if hard == resource.RLIM_INFINITY else min(until, hard), hard))


def _next_request(channel: socket.socket) -> tuple[Header, bytes] | None:
    """None: the parent has closed the channel."""
    try:
        return unpack(lambda count: received(channel, count))
    except (EOFError, ConnectionError):
        return None


def _answer(parser: Parser, request: tuple[Header, bytes], channel: socket.socket) -> Header:
    """Runs one request; its last frame says how it ended."""

    def send(header: Header, blob: bytes = b"") -> None:
        channel.sendall(pack(header, blob))

    try:
        parser.serve(*request, send)
    except FileRefused as refused:
        told = {"problem": refused.problem, "next_step": refused.next_step, "row": refused.row}
        return {"kind": "refused", **told, "column": refused.column}
    except MemoryError:
        return {"kind": "memory"}
    except ConnectionError:
        sys.exit(1)  # nobody listens any more
    except BaseException as error:  # a panic of a native parser is not an Exception
        return {"kind": "broken", "error": f"{type(error).__name__}: {error}"[:500]}
    return {"kind": "end"}


if __name__ == "__main__":
    main(sys.argv[1:])
