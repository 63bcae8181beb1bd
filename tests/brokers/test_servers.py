"""The servers of the tests themselves: shared by a run, gone after it, and with the same data after a restart."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing import brokers as servers
from penstock.testing.brokers import RedisServer
from tests.brokers import sharing

PENSTOCK = Path(__file__).parents[2]


def test_a_restarted_server_has_its_port_and_its_data(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "redis") as server:
        _say(server.port, b"SET kept 1\r\n")
        server.restart()
        assert b"1" in _say(server.port, b"GET kept\r\n")
        server.kill()
        assert not server.answers()
        server.start()
        server.freeze()
        assert not server.answers()
        server.ensure_running()
        assert server.answers()
    assert not server.answers()


def test_a_missing_program_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssertionError, match="redis-server is not installed, and PENSTOCK_TEST_REDIS_URL names no"):
        RedisServer(tmp_path)


def test_a_run_shares_one_server_until_its_last_user_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "run_folder", lambda: tmp_path)
    first, second = sharing.shared(RedisServer, "redis"), sharing.shared(RedisServer, "redis")
    url = first.__enter__()
    assert second.__enter__() == url
    first.__exit__(None, None, None)
    assert _answers(url)
    second.__exit__(None, None, None)
    assert not _answers(url)


def test_what_a_killed_run_left_is_ended_by_the_next() -> None:
    program = (
        "import os; from penstock.testing.brokers import RedisServer; from tests.brokers.sharing import run_folder;"
        "server = RedisServer(run_folder() / 'own'); server.start(); print(server.url, flush=True); os._exit(1)"
    )
    killed = [sys.executable, "-c", program]
    url = subprocess.run(killed, cwd=PENSTOCK, check=False, stdout=subprocess.PIPE, text=True, env=_alone()).stdout
    assert _answers(url)
    sharing.end_leftovers()
    assert not _answers(url)


def _alone() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def _answers(url: str) -> bool:
    return b"PONG" in servers._said_by(int(url.rsplit(":", 1)[1].partition("/")[0]), b"PING\r\n")


def _say(port: int, command: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
        link.sendall(command)
        return link.recv(1000)
