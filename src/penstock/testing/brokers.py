"""Redis and RabbitMQ as processes of tests and benches: private loopback ports, private folders, nothing of the
machine's own.

They can be stopped, killed, frozen and started again on the same port with the same data. The programs are installed
by ``tools/install-test-programs.sh``; a test that needs one that is missing fails with a sentence.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Self

import psutil

from penstock.testing.processes import freeze

REDIS_VARIABLE = "PENSTOCK_TEST_REDIS_URL"
RABBITMQ_VARIABLE = "PENSTOCK_TEST_RABBITMQ_URL"
_RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_START_SECONDS = 90.0
_STOP_SECONDS = 40.0


class Server(ABC):
    """A server of a test. ``port`` and ``folder`` outlive a restart, and so does what the server has stored."""

    name: ClassVar[str]
    url: str

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Returns when it answers."""
        self._process = self._run(self._command(), self._environment())
        deadline = time.monotonic() + _START_SECONDS
        while not self.answers():
            if self._process.poll() is not None:
                raise AssertionError(f"{self.name} ended at its start: {self._last_words()}")
            if time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"{self.name} did not answer within {_START_SECONDS:g} s: {self._last_words()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """SIGTERM: it stores what it has and ends."""
        if self._process is None:
            return
        self.thaw()
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """SIGKILL: what was not on disk is gone."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait(_STOP_SECONDS)
            self._process = None

    def freeze(self) -> None:
        """SIGSTOP: connections stay open and nobody answers."""
        if self._process is not None:
            server = psutil.Process(self._process.pid)
            freeze([one for one in (server, *server.children(recursive=True)) if _group(one.pid) == server.pid])

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        """Started, and gone with its data at the end."""
        try:
            self.start()
        except BaseException:
            self.dispose()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.dispose()

    def ensure_running(self) -> None:
        """For the next test, whatever the last one did."""
        if self._process is None or self._process.poll() is not None:
            self.start()
        else:
            self.thaw()

    def dispose(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def leave(self) -> None:
        """Another process of the run will end it; without this, Python warns that nobody waited for it."""
        for process in self._started:
            process.returncode = process.returncode or 0

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @classmethod
    @abstractmethod
    def installed(cls) -> bool:
        """Whether the program is there."""

    @abstractmethod
    def answers(self) -> bool: ...

    @abstractmethod
    def _command(self) -> list[str]: ...

    def _environment(self) -> dict[str, str]:
        return dict(os.environ)

    def _run(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / "output").open("ab") as output:
            # A session of its own: signals reach the whole server, and ctrl-c in the terminal reaches only pytest.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=self.folder,
                start_new_session=True,
            )
        self._started.append(process)
        with (self.folder / "pids").open("a") as pids:
            pids.write(f"{process.pid}\n")
        return process

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _last_words(self) -> str:
        return (self.folder / "output").read_text(errors="replace")[-2000:].strip() or "it said nothing"


class RedisServer(Server):
    """Append-only file on, as one would run it for messages: a stop and a start keep what was in it."""

    name = "Redis"

    @classmethod
    def installed(cls) -> bool:
        return shutil.which("redis-server") is not None

    def __init__(self, folder: Path, *, password: str | None = None) -> None:
        if not self.installed():
            raise AssertionError(_missing("redis-server", REDIS_VARIABLE))
        super().__init__(folder)
        self._password = password
        self.url = f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"

    def answers(self) -> bool:
        # While it loads its data it answers -LOADING, with a password -NOAUTH.
        return _said_by(self.port, b"PING\r\n").startswith((b"+PONG", b"-NOAUTH"))

    def _command(self) -> list[str]:
        here = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        password = ["--requirepass", self._password] if self._password else []
        return ["redis-server", *here, "--save", "", "--appendonly", "yes", *password]


class RabbitServer(Server):
    """A node with its own port mapper (epmd), so that no Erlang of the machine is met. Up in about ten seconds."""

    name = "RabbitMQ"

    @classmethod
    def installed(cls) -> bool:
        return _RABBITMQ.exists()

    def __init__(self, folder: Path) -> None:
        if not self.installed():
            raise AssertionError(_missing("rabbitmq-server", RABBITMQ_VARIABLE))
        super().__init__(folder)
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}/"
        self._distribution_port = free_port()
        self._mapper_port = free_port()
        self._mapper: subprocess.Popen[bytes] | None = None
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            "loopback_users.guest = true\n"
            "log.console = false\n"
            "vm_memory_high_watermark.absolute = 600MB\n"
            "disk_free_limit.absolute = 50MB\n"
        )
        (folder / "environment.conf").touch()

    def start(self) -> None:
        if self._mapper is None:
            # Started here and not by Erlang, which would leave it behind as a daemon.
            mapper = ["epmd", "-port", str(self._mapper_port), "-address", "127.0.0.1"]
            self._mapper = self._run(mapper, self._environment())
        super().start()

    def dispose(self) -> None:
        self.kill()
        if self._mapper is not None:
            self._mapper.kill()
            self._mapper.wait(_STOP_SECONDS)
        super().dispose()

    def answers(self) -> bool:
        # The protocol's greeting; listeners are opened last, so who answers it is ready.
        return b"RabbitMQ" in _said_by(self.port, b"AMQP\x00\x00\x09\x01")

    def _command(self) -> list[str]:
        return [str(_RABBITMQ)]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"penstock{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "environment.conf"),
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            # No busy waiting, and no more threads than the machine of the tests has to give.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +S 2:2",
        }


KINDS: Mapping[str, type[RedisServer] | type[RabbitServer]] = {"redis": RedisServer, "rabbitmq": RabbitServer}


def _group(pid: int) -> int | None:
    """None for one that has ended: RabbitMQ starts small programs all the time."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def free_port() -> int:
    """Below those that the kernel gives to outgoing connections, one of which might take it before it is used."""
    while True:
        port = random.randrange(10_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _said_by(port: int, greeting: bytes) -> bytes:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as link:
            link.sendall(greeting)
            return link.recv(4096)
    except OSError:
        return b""


def _missing(package: str, variable: str) -> str:
    return (
        f"{package} is not installed, and {variable} names no server. Run `make programs` as root or with sudo, "
        f"install it (Debian: apt-get install {package}), or set {variable}."
    )
