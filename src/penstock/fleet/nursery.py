"""Starts runners quickly: one process imports the engine once, and forks when a runner is wanted.

Importing everything costs most of a second of CPU, a fork a few milliseconds; so a runner that died is back before
its tasks are missed, and poison costs little. The nursery itself runs no user code, has no threads and no event loop:
forking it is safe. It lives and dies with its supervisor, and its runners with it.
"""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import orjson

from penstock.fleet.channel import Channel, die_with
from penstock.fleet.process import Orders, run

_LARGEST_ORDERS_BYTES = 128 * 1024
# A fork takes milliseconds; one that owes an answer for so long stands still.
_PATIENCE_SECONDS = 10.0
_LONGEST_LOOK_SECONDS = 2.5


class ForkedRunner:
    """A forked runner, as the supervisor sees it. Its exit is told by the nursery, which is its parent."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: int | None = None
        # It died because the nursery did: not its own fault, nor that of a task.
        self.orphaned = False
        self._handle: int | None = None
        if hasattr(os, "pidfd_open"):
            # Signals go to this very process, also when its number has been given to another one.
            with suppress(OSError):
                self._handle = os.pidfd_open(pid)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            elif self.exit_code is None:
                os.kill(self.pid, signal.SIGKILL)

    def gone(self) -> bool:
        """Whether it has ended, also when nobody has told us."""
        if self._handle is None:
            return False
        looking = select.poll()
        looking.register(self._handle, select.POLLIN)
        return bool(looking.poll(0))

    def ended(self, exit_code: int) -> None:
        if self.exit_code is None:
            self.exit_code = exit_code
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Nursery:
    """The supervisor's side. Started before the first runner, and again if it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None
        self._listening: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._expected: dict[int, asyncio.Future[ForkedRunner]] = {}
        self._children: dict[int, ForkedRunner] = {}
        self._owes_answer = False
        self._silent_seconds = 0.0
        self._looked_at = time.monotonic()

    async def ready(self) -> None:
        """Until it has imported what it needs. Raises ChildProcessError where it ended instead."""
        if self._listening is None or self._listening.done() or self._over():
            await self._start()
        assert self._listening is not None
        waiting = asyncio.ensure_future(self._ready.wait())
        try:
            await asyncio.wait({waiting, self._listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not self._ready.is_set():
            raise ChildProcessError("the nursery of the runners ended before it was ready")

    async def start_runner(self, orders: Orders, channel: socket.socket) -> ForkedRunner:
        """Only when it is ready. A runner that nobody waits for any more when it is born is killed at once."""
        assert self._orders is not None
        expected: asyncio.Future[ForkedRunner] = asyncio.get_running_loop().create_future()
        self._expected[orders.worker] = expected
        try:
            socket.send_fds(self._orders, [orjson.dumps(orders)], [channel.fileno()])
            self._owes_answer = True
            return await expected
        finally:
            self._expected.pop(orders.worker, None)

    def end_if_stuck(self) -> None:
        """Called often. A nursery that stands still tells neither births nor deaths, and our heartbeat would keep the
        tasks of a dead runner: it is killed, and all begin anew."""
        now = time.monotonic()
        # Bounded: if it was us who stood still, its answer lies unread.
        looked, self._looked_at = min(now - self._looked_at, _LONGEST_LOOK_SECONDS), now
        if not (self._owes_answer or any(child.gone() for child in self._children.values())):
            self._silent_seconds = 0.0
            return
        self._silent_seconds += looked
        if self._silent_seconds > _PATIENCE_SECONDS and self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """What it started ends with it."""
        if self._listening is not None:
            self._listening.cancel()
        if self._orders is not None:
            self._orders.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _over(self) -> bool:
        return self._process is None or self._process.poll() is not None

    async def _start(self) -> None:
        self.close()
        self._orders, orders = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        notices, told = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock.fleet.nursery", str(orders.fileno()), str(told.fileno())],
            env={**os.environ, SUPERVISOR: str(os.getpid())},
            pass_fds=(orders.fileno(), told.fileno()),
            stdin=subprocess.DEVNULL,
        )
        orders.close()
        told.close()
        self._ready.clear()
        self._owes_answer, self._silent_seconds = False, 0.0
        self._listening = asyncio.create_task(self._listen(await Channel.over(notices)))

    async def _listen(self, channel: Channel) -> None:
        """Ends with the nursery; whatever it had started is dead then, or is about to be."""
        try:
            async for notice in channel.messages():
                self._owes_answer, self._silent_seconds = False, 0.0
                if "ready" in notice:
                    self._ready.set()
                elif "born" in notice:
                    self._welcome(ForkedRunner(notice["born"]), notice["worker"])
                elif "unborn" in notice:
                    self._disappoint(notice["unborn"], f"a runner could not be forked: {os.strerror(notice['error'])}")
                elif (child := self._children.pop(notice["exited"], None)) is not None:
                    child.ended(notice["code"])
        finally:
            channel.close()
            self._ready.clear()
            for child in self._children.values():
                child.orphaned = True
                child.kill()
                child.ended(-signal.SIGKILL)
            self._children.clear()
            for worker in self._expected:
                self._disappoint(worker, "the nursery of the runners was killed")

    def _welcome(self, child: ForkedRunner, worker: int) -> None:
        self._children[child.pid] = child
        expected = self._expected.get(worker)
        if expected is None or expected.done():
            child.kill()
        else:
            expected.set_result(child)

    def _disappoint(self, worker: int, why: str) -> None:
        expected = self._expected.get(worker)
        if expected is not None and not expected.done():
            expected.set_exception(ChildProcessError(why))


# ---------------------------------------------------------------- the process itself

SUPERVISOR = "PENSTOCK_SUPERVISOR_PID"


def main() -> None:
    orders = socket.socket(fileno=int(sys.argv[1]))
    told = socket.socket(fileno=int(sys.argv[2]))
    die_with(int(os.environ.pop(SUPERVISOR)))
    # Ctrl-C and a service manager's SIGTERM reach the whole group; only the supervisor decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    _tell(told, {"ready": 1})
    while True:
        ready, _, _ = select.select([orders.fileno(), woken], [], [])
        if woken in ready:
            with suppress(BlockingIOError):
                os.read(woken, 4096)
            _tell_exits(told)
        if orders.fileno() in ready:
            data, descriptors, _, _ = socket.recv_fds(orders, _LARGEST_ORDERS_BYTES, 1)
            if not data:
                os._exit(0)
            _bear(data, descriptors[0], told, (orders.fileno(), told.fileno(), woken, wake))


def _bear(data: bytes, channel: int, told: socket.socket, ours: tuple[int, ...]) -> None:
    given = orjson.loads(data)
    nursery = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:  # no process or memory to be had: the runners that live go on
        os.close(channel)
        _tell(told, {"unborn": given["worker"], "error": error.errno or 0})
        return
    if pid:
        os.close(channel)
        _tell(told, {"born": pid, "worker": given["worker"]})
        return
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor in ours:
        os.close(descriptor)
    run(Orders(**{**given, "channel": channel, "supervisor_pid": nursery}))


def _tell_exits(told: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _tell(told, {"exited": pid, "code": os.waitstatus_to_exitcode(status)})


def _tell(told: socket.socket, notice: dict[str, int]) -> None:
    try:
        told.sendall(orjson.dumps(notice) + b"\n")
    except OSError:  # the supervisor is gone
        os._exit(0)


if __name__ == "__main__":
    main()
