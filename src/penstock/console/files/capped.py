"""Runs a parser in a process of its own with caps on memory and time.

Whatever a file does to the parser, the caller sees rows or :class:`FileRefused`. A process that somebody ended from
outside is no fault of the file: that is a :class:`TransientError`, worth another try.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, NoReturn, Self

from penstock.console.files.frames import BrokenFrame, Header, pack, received, unpack
from penstock.console.files.refused import FileRefused
from penstock.errors import TransientError

_MODULE = "penstock.console.files.capped_child"
_LAST_WORDS_BYTES = 16 * 1024
_EXIT_SECONDS = 5.0
_OUT_OF_MEMORY = (b"MemoryError", b"memory allocation of", b"bad_alloc", b"Cannot allocate memory", b"out of memory")
_FROM_OUTSIDE = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
# What a child may know of the surroundings. Addresses with passwords are none of its business.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
_ENVIRONMENT_PREFIXES = ("PYTHON", "COVERAGE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """``memory_mb`` comes on top of the interpreter; ``answer_seconds`` is the longest wait for one piece of answer,
    so that a slow reader of rows does not run into it."""

    memory_mb: int
    cpu_seconds: int
    answer_seconds: float

    def __post_init__(self) -> None:
        for name in ("memory_mb", "cpu_seconds", "answer_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} = {getattr(self, name)!r} will not do: it has to be above 0.")


class CappedChild:
    """One process. Ask one thing after the other; after a :class:`FileRefused` look at :attr:`usable`."""

    def __init__(self, parser: str, caps: Caps, *, subject: str) -> None:
        """``parser``: a module as :mod:`.capped_child` wants it; ``subject``: the word for the file."""
        self._caps = caps
        self._subject = subject
        self._deadline = 0.0
        self._last_words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._channel, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        try:
            with theirs:
                self._process = self._start(parser, theirs.fileno(), lifeline)
        except OSError as error:
            self._release()
            raise TransientError(f"No process could be started to read the {subject}: {error}.") from None
        finally:
            os.close(lifeline)
        self.requests = 0

    def _start(self, parser: str, channel: int, lifeline: int) -> "subprocess.Popen[bytes]":
        numbers = (channel, lifeline, self._caps.memory_mb, self._caps.cpu_seconds)
        return subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, *map(str, numbers), parser],
            stdin=subprocess.DEVNULL,
            stdout=self._last_words,
            stderr=self._last_words,
            pass_fds=(channel, lifeline),
            env=_environment(os.environ),
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def usable(self) -> bool:
        return self._channel.fileno() >= 0

    @property
    def alive(self) -> bool:
        """Look before asking one that was idle: what happened to it meanwhile is no matter of the next file."""
        return self.usable and self._process.poll() is None

    def ask(self, order: Header, blob: bytes = b"") -> Iterator[tuple[Header, bytes]]:
        """The frames of the answer as they come. Leave it early only together with :meth:`close`."""
        self.requests += 1
        self._send(pack(order, blob))
        while True:
            header, data = self._next_frame()
            match header.get("kind"):
                case "end":
                    return
                case "refused":
                    told = {"row": header["row"], "column": header["column"]}
                    raise FileRefused(header["problem"], header["next_step"], **told)
                case "memory":
                    self.close()
                    raise self._too_large()
                case "broken":
                    self.close()
                    raise self._unreadable(header["error"])
                case _:
                    yield header, data

    def kill(self) -> None:
        """For other threads than the one that asks, which then gets its error and closes."""
        with suppress(ProcessLookupError):
            self._process.kill()

    def close(self) -> None:
        """Ends the process at once; it holds nothing worth saving."""
        self.kill()
        self._process.wait()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # ---------------------------------------------------------------- the channel

    def _send(self, frame: bytes) -> None:
        self._channel.settimeout(self._caps.answer_seconds)
        try:
            self._channel.sendall(frame)
        except TimeoutError:
            self._give_up()
        except OSError:
            pass  # it died; reading tells how

    def _next_frame(self) -> tuple[Header, bytes]:
        self._deadline = time.monotonic() + self._caps.answer_seconds
        try:
            return unpack(lambda count: received(self._channel, count, self._wait_no_longer))
        except TimeoutError:
            self._give_up()
        except (EOFError, OSError):
            pass
        except BrokenFrame as broken:
            self.close()
            raise self._unreadable(str(broken)) from None
        raise self._death()

    def _wait_no_longer(self) -> None:
        self._channel.settimeout(max(self._deadline - time.monotonic(), 0.001))

    # ---------------------------------------------------------------- why it failed

    def _give_up(self) -> NoReturn:
        self.close()
        raise self._too_slow(self._caps.answer_seconds)

    def _death(self) -> Exception:
        """The channel ended. How the process ended says what the file did to it."""
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            code = 0  # it lives, but does not talk
        words = self._spoken()
        self.close()
        if -code == signal.SIGXCPU:
            return self._too_slow(self._caps.cpu_seconds)
        if -code in _FROM_OUTSIDE:
            return TransientError(f"The process that read the {self._subject} was ended from outside. Try again.")
        if any(sign in words for sign in _OUT_OF_MEMORY):
            return self._too_large()
        if -code == signal.SIGKILL:
            # Its own cap shows as an error inside. The kernel takes processes when the machine is short, whoever it is.
            return TransientError(
                f"The process that read the {self._subject} was ended from outside, by somebody or because the machine "
                "was short of memory. Try again."
            )
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return self._unreadable(cause)

    def _spoken(self) -> bytes:
        try:
            self._last_words.seek(0, os.SEEK_SET)
            return self._last_words.read(_LAST_WORDS_BYTES)
        except (OSError, ValueError):
            return b""  # closed meanwhile

    def _too_large(self) -> FileRefused:
        problem = f"the {self._subject} needs more than {self._caps.memory_mb:,} MB to be read."
        return FileRefused(problem, "Make it smaller, or split it.")

    def _too_slow(self, seconds: float) -> FileRefused:
        problem = f"the {self._subject} takes more than {seconds:g} s to be read."
        return FileRefused(problem, "Make it smaller, or save it again.")

    def _unreadable(self, cause: str) -> FileRefused:
        problem = f"the {self._subject} cannot be read; it broke the program that tried ({cause})."
        return FileRefused(problem, "Open it and save it again.")

    def _release(self) -> None:
        self._channel.close()
        self._last_words.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in ours.items() if k in _ENVIRONMENT or k.startswith(_ENVIRONMENT_PREFIXES)}
