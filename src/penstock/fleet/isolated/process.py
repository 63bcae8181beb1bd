"""One child process of a runner: started, asked, interrupted, ended. Knows nothing of stages."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from penstock.core.context import Context
from penstock.core.run import ProcessDied
from penstock.fleet.isolated.messages import Message, Unframer, frame_limit, pack

_MODULE = "penstock.fleet.isolated.child"
_STANDARD_ERROR = 2
_READ_BYTES = 256 * 1024
_RETIRE_SECONDS = 2.0
_AFTER_KILL_SECONDS = 2.0
_LAST_WORDS_SECONDS = 0.5
_ANSWERS = frozenset({"value", "ending", "error"})


class NotBegun(Exception):
    """A child that had served before died without having started this call."""


class IsolatedProcess:
    """Has to be made in the thread of the event loop: Linux ends the child with the thread that started it.

    Two things tell that it is over: the end of its socket, which comes behind everything it said, and a
    thread that waits for the process. Only both together settle a call that is still open.
    """

    def __init__(self, start: Message, max_result_bytes: int, gone: Callable[["IsolatedProcess"], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._gone = gone
        self._unframer = Unframer(frame_limit(max_result_bytes))
        self._channel, self._process = _spawn(max_result_bytes)
        self.pid = self._process.pid
        self.calls = 0
        self._unsent = pack(start)
        self._begun = False
        self._spent = False
        self._fault: str | None = None
        self._exit_code: int | None = None
        self._context: Context | None = None
        self._answer: asyncio.Future[Message | None] | None = None
        self._exited = asyncio.Event()
        self._reaping = threading.Lock()
        self._reaped = False
        self._timer: threading.Timer | None = None
        self._watch()
        self._listening = self._loop.create_task(self._listen(), name=f"penstock-child-{self.pid}")

    @property
    def busy(self) -> bool:
        return self._answer is not None

    @property
    def usable(self) -> bool:
        return not self._spent and self._exit_code is None and not self._listening.done()

    # ---------------------------------------------------------------- one call

    async def ask(self, order: Message, context: Context) -> Message:
        """Send a call and wait for its answer. After a cancellation :meth:`interrupt` has to follow."""
        self._begun = False
        self._context = context
        self.calls += 1
        answer = self._answer = self._loop.create_future()
        frame, self._unsent = self._unsent + pack(order), b""
        sent = False
        try:
            with suppress(OSError):  # died meanwhile; the reader finds out how
                await self._loop.sock_sendall(self._channel, frame)
            sent = True
        finally:
            if not sent:
                self.kill()  # half a message is in the socket
        await asyncio.wait((answer,))
        return self._end_call(answer)

    async def interrupt(self, number: int, grace_seconds: float) -> Message | None:
        """Tell the handler, give it a moment, then kill. None: it had to be killed, or died of itself."""
        answer = self._answer
        assert answer is not None
        try:
            with suppress(OSError):
                self._channel.send(pack({"kind": "cancel", "number": number}))
            await asyncio.wait((answer,), timeout=grace_seconds)
            if not answer.done():
                self.kill()
                await asyncio.wait((answer,), timeout=_AFTER_KILL_SECONDS)
            return answer.result() if answer.done() else None
        finally:
            if not answer.done() or answer.result() is None:
                self.kill()
            self._answer = self._context = None

    def _end_call(self, answer: "asyncio.Future[Message | None]") -> Message:
        self._answer = self._context = None
        message = answer.result()
        if message is not None:
            return message
        if not self._begun and self.calls > 1:
            raise NotBegun
        raise ProcessDied(self._how())

    def _how(self) -> str:
        when = "" if self._begun else " before the handler started"
        if self._fault is not None:
            return f"{self._fault}, and it was killed{when}"
        code = self._exit_code
        if code is None or code >= 0:
            return f"it ended with exit code {code}{when}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        more = " (by somebody, or by the kernel because memory ran out)" if -code == signal.SIGKILL else ""
        return f"it was killed by {name}{more}{when}"

    # ---------------------------------------------------------------- its end

    def kill(self) -> None:
        """At once, with everything in its session."""
        self._spent = True
        with self._reaping:
            if not self._reaped:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)

    def retire(self) -> None:
        """Let it leave by itself, so that its exit functions run; a child that does not is killed."""
        if self._timer is not None or self._reaped:
            return
        self._spent = True
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
        self._timer = threading.Timer(_RETIRE_SECONDS, self.kill)
        self._timer.daemon = True
        self._timer.start()

    def _watch(self) -> None:
        try:
            threading.Thread(target=self._wait, name=f"penstock-child-{self.pid}", daemon=True).start()
        except RuntimeError:
            # No thread to be had: a child that nobody waits for must not exist.
            self.kill()
            self._process.wait()
            self._channel.close()
            raise

    def _wait(self) -> None:
        """In a thread, so that no loop and no signal handler of the host program has to cooperate."""
        if hasattr(os, "waitid"):
            # Leaves the pid taken until the rest of the session has been killed, so it names nobody else.
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            if hasattr(os, "waitid"):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
            code = self._process.wait()
            self._reaped = True
        if self._timer is not None:
            self._timer.cancel()
        with suppress(RuntimeError):  # the loop is closed: nobody wants to know
            self._loop.call_soon_threadsafe(self._note_exit, code)

    def _note_exit(self, code: int) -> None:
        self._exit_code = code
        self._exited.set()
        self._gone(self)
        if not self._listening.done():
            self._loop.call_later(_LAST_WORDS_SECONDS, self._stop_reading)

    # ---------------------------------------------------------------- what it says

    async def _listen(self) -> None:
        try:
            await self._read()
            self._spent = True
            # It said goodbye first and leaves next: exit functions run after the socket is closed.
            await asyncio.wait_for(self._exited.wait(), _RETIRE_SECONDS)
        except TimeoutError:
            self._fault = "it closed its link to the runner"
        except (ValueError, KeyError, TypeError) as error:
            self._fault = f"it sent what is no message ({error})"
        finally:
            self._channel.close()
            self.kill()
        await self._exited.wait()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    async def _read(self) -> None:
        with suppress(OSError):
            while data := await self._loop.sock_recv(self._channel, _READ_BYTES):
                for message in self._unframer.feed(data):
                    self._hear(message)

    def _stop_reading(self) -> None:
        """A process that the handler forked away may hold the socket open; nothing more will come from it."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RD)

    def _hear(self, message: Message) -> None:
        kind = message["kind"]
        if kind == "begun":
            self._begun = True
        elif kind == "progress" and self._context is not None:
            self._context.progress(message["done"], message["total"], message["note"])
        elif kind in _ANSWERS:
            self._spent = self._spent or bool(message["spent"])
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(message)


def _spawn(max_result_bytes: int) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """A fresh interpreter that inherits one end of a socket pair and nothing else."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    command = [sys.executable, "-m", _MODULE, *map(str, (theirs.fileno(), os.getpid(), max_result_bytes))]
    try:
        with theirs:
            # A session of its own: Ctrl-C does not reach it, and what it starts can be killed with it.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=_STANDARD_ERROR,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    return ours, process
