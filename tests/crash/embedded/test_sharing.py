"""One server for several processes: the first starts it, the last stops it."""

import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from penstock import embedded
from penstock.embedded import server as embedded_server
from penstock.errors import EmbeddedServerError, InvalidSetting
from tests.crash.embedded.user_process import UserProcess, ask, assert_stopped, postmaster_pid

StartUser = Callable[..., UserProcess]

RELEASE_IN_A_FORKED_CHILD = """
import os, sys
from pathlib import Path
from penstock import embedded

server = embedded.acquire(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    server.release()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(server.url, flush=True)
sys.stdin.readline()
server.release()
"""

END_WITHOUT_RELEASING = """
import sys
from pathlib import Path
from penstock import embedded

print(embedded.acquire(Path(sys.argv[1])).url, flush=True)
"""


async def test_a_new_home_answers_sql_as_the_penstock_role(folder: Path) -> None:
    server = embedded.acquire(folder / "new" / "home")
    assert await ask(server.url, "SELECT current_user || '@' || current_database()") == "penstock@penstock"

    server.release()
    server.release()
    assert_stopped(folder)


async def test_two_processes_share_one_server_and_the_last_one_out_stops_it(home: Path, start_user: StartUser) -> None:
    first, second = start_user(home), start_user(home)
    url = first.url()
    assert second.url() == url
    pid = postmaster_pid(home)

    first.leave()
    assert await ask(url, "SELECT 1") == 1
    assert postmaster_pid(home) == pid

    second.leave()
    assert_stopped(home)


async def test_two_handles_in_one_process_count_as_two_users(home: Path) -> None:
    first, second = embedded.acquire(home), embedded.acquire(home)
    first.release()
    assert await ask(second.url, "SELECT 1") == 1
    second.release()
    assert_stopped(home)


async def test_four_processes_that_start_at_once_on_an_empty_home_get_one_server(
    folder: Path, start_user: StartUser
) -> None:
    users = [start_user(folder / "home") for _ in range(4)]
    urls = {user.url() for user in users}
    assert len(urls) == 1
    assert await ask(urls.pop(), "SELECT 1") == 1

    for user in users:
        user.leave()
    assert_stopped(folder)


async def test_a_process_that_ends_without_releasing_stops_the_server_as_well(
    home: Path, start_user: StartUser
) -> None:
    user = start_user(home, program=END_WITHOUT_RELEASING)
    user.url()
    assert user.process.wait(60) == 0
    assert_stopped(home)


async def test_a_forked_child_cannot_release_the_server_of_its_parent(home: Path, start_user: StartUser) -> None:
    parent = start_user(home, program=RELEASE_IN_A_FORKED_CHILD)
    url = parent.url()
    start_user(home).leave()
    assert await ask(url, "SELECT 1") == 1
    parent.leave()
    assert_stopped(home)


async def test_ctrl_c_in_the_terminal_that_started_it_does_not_reach_the_server(
    home: Path, start_user: StartUser
) -> None:
    starter = start_user(home)
    url = starter.url()
    server = psutil.Process(postmaster_pid(home))
    assert os.getsid(server.pid) != os.getsid(starter.pid)
    assert not any(file.path.startswith("/dev/pts") for file in server.open_files())
    stayed = start_user(home)
    stayed.url()

    os.killpg(starter.pid, signal.SIGINT)
    starter.process.wait(60)

    assert await ask(url, "SELECT 1") == 1
    assert server.is_running()
    stayed.leave()
    assert_stopped(home)


def test_a_start_that_takes_too_long_elsewhere_ends_in_a_clear_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_server, "LOCK_TIMEOUT_SECONDS", 0.1)
    with open(home / "run" / "start.lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(EmbeddedServerError, match=r"another Penstock process .*start\.lock and end it"):
            embedded.acquire(home)
    embedded.acquire(home).release()


async def test_settings_of_the_starter_apply_and_those_of_later_users_do_not(home: Path) -> None:
    first = embedded.acquire(home, settings={"work_mem": "5MB", "application_name": "it's \\ odd"})
    second = embedded.acquire(home, settings={"work_mem": "6MB"})
    assert await ask(second.url, "SHOW work_mem") == "5MB"
    assert await ask(second.url, "SELECT reset_val FROM pg_settings WHERE name = 'application_name'")
    second.release()
    first.release()


@pytest.mark.parametrize("name", ["listen_addresses", "HBA_FILE", "not a name", "line\nbreak"])
def test_a_setting_that_would_open_the_server_or_is_none_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(InvalidSetting):
        embedded.acquire(folder / "home", settings={name: "*"})
    assert not (folder / "home").exists()
