"""The folder everything lives in.

Nothing outside of it is changed, and nothing is made there but missing parents, and a socket folder in /tmp
if the home's path is too long for a socket.
"""

import hashlib
import os
import re
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EmbeddedServerError

from .account import Account

SYSTEM_HOME = Path("/var/lib/penstock")
SHORT_FOLDER = Path("/tmp")
"""The same for every process, while TMPDIR and XDG_RUNTIME_DIR differ between a login and a cron job."""
SOCKET_NAME = ".s.PGSQL.5432"
LONGEST_SOCKET_PATH_BYTES = 103  # macOS; Linux allows 107
UNFIT_FOR_SOCKET = re.compile(r"[,\"'\\]|[^\x20-\x7e]")
PRIVATE = 0o700
CHOOSE_ANOTHER = "Set PENSTOCK_HOME to another folder."


def default_home() -> Path:
    if os.geteuid() == 0:
        return SYSTEM_HOME
    data_home = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data_home) if os.path.isabs(data_home) else Path.home() / ".local" / "share"
    return base / "penstock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    path: Path
    account: Account

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def start_lock(self) -> Path:
        return self.run / "start.lock"

    @property
    def users_lock(self) -> Path:
        return self.run / "users.lock"

    @property
    def socket_folder(self) -> Path:
        inside = self.path / "socket"
        length = len(os.fsencode(inside / SOCKET_NAME))
        if length <= LONGEST_SOCKET_PATH_BYTES and not UNFIT_FOR_SOCKET.search(str(inside)):
            return inside
        digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        return SHORT_FOLDER / f"penstock-{self.account.uid}-{digest}"

    def make_folder(self, path: Path) -> None:
        self._do(f"the folder {path}", 'mkdir -p "$1"', path)

    def make_socket_folder(self) -> None:
        """Private, ours, or refused: in /tmp, a folder that somebody else prepared may be a trap."""
        path = self.socket_folder
        if not path.is_symlink():
            self.make_folder(path)
        found = path.lstat()
        right_mode = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == PRIVATE
        if not right_mode or found.st_uid != self.account.uid:
            raise EmbeddedServerError(
                what=f"{path} should be a folder of user {self.account.uid} with mode 0700, "
                f"and is {stat.filemode(found.st_mode)} of user {found.st_uid}",
                next_step="See who made it, then remove it or give it that owner and mode.",
            )

    def write(self, path: Path, text: str) -> None:
        """Whole or not at all."""
        self._do(f"the file {path}", 'cat >"$1.new" && mv -f "$1.new" "$1"', path, text_in=text)

    def touch(self, path: Path) -> None:
        if not path.exists():
            self._do(f"the file {path}", ': >>"$1"', path)

    def _do(self, what: str, script: str, path: Path, *, text_in: str = "") -> None:
        code, said = self.account.run_script(script, path, text_in=text_in)
        if code:
            raise EmbeddedServerError(
                what=f"{what} could not be made: {said}",
                next_step="Check free space and permissions there, or set PENSTOCK_HOME to another folder.",
            )

    def remove_outside_socket_folder(self) -> None:
        """The short folder in /tmp is the one thing that would stay behind once the server has stopped."""
        folder = self.socket_folder
        if folder.parent == SHORT_FOLDER:
            shutil.rmtree(folder, ignore_errors=True)


def prepare_home(path: Path, account: Account) -> Home:
    """Create or check the folder. Parents are made if missing, and never changed."""
    home = Home(path=path.expanduser().resolve(), account=account)
    if re.search(r"[\x00-\x1f]", str(home.path)):
        raise EmbeddedServerError(
            what=f"the name of the folder {str(home.path)!r} has control characters", next_step=CHOOSE_ANOTHER
        )
    _refuse_unreachable(home)
    _make_parents(home)
    _make_private(home)
    for folder in (home.run, home.logs):
        if not folder.exists():
            home.make_folder(folder)
    for lock in (home.start_lock, home.users_lock):
        home.touch(lock)
    return home


def _refuse_unreachable(home: Home) -> None:
    """As root: the server's user has to get through every parent. To open them is not for us to decide."""
    if not home.account.is_other:
        return
    look = 'for folder do test -x "$folder" || { printf %s "$folder"; exit 1; }; done'
    parents = [parent for parent in reversed(home.path.parents) if parent.exists()]
    code, closed = home.account.run_script(look, *parents)
    if code:
        raise EmbeddedServerError(
            what=f"the system user {home.account.name!r}, which runs the server for root, "
            f"may not pass through the folder {closed} on the way to {home.path}",
            next_step=f"Set PENSTOCK_HOME to a folder it can reach, like {SYSTEM_HOME}. Nothing was changed.",
        )


def _make_parents(home: Home) -> None:
    """Those we make for another user must let that user through, whatever our umask; our own stay private."""
    for parent in reversed(home.path.parents):
        if not parent.exists():
            with suppress(FileExistsError):
                parent.mkdir(mode=PRIVATE)
                parent.chmod(0o755 if home.account.is_other else PRIVATE)


def _make_private(home: Home) -> None:
    """Through a descriptor, so that what was checked is what gets changed."""
    try:
        home.path.mkdir(mode=PRIVATE)
    except FileExistsError:
        if not home.path.is_dir():
            raise EmbeddedServerError(what=f"{home.path} is not a folder", next_step=CHOOSE_ANOTHER) from None
    descriptor = os.open(home.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        holds_other_things = bool(os.listdir(descriptor)) and not home.start_lock.exists()
        _check(home, os.fstat(descriptor), holds_other_things=holds_other_things)
        os.fchmod(descriptor, PRIVATE)
        if home.account.is_other:
            os.fchown(descriptor, home.account.uid, home.account.gid)
    finally:
        os.close(descriptor)


def _check(home: Home, found: os.stat_result, *, holds_other_things: bool) -> None:
    """Only an empty folder or one of ours is made private: ``/etc``, set by mistake, must stay as it is."""
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid not in (home.account.uid, os.geteuid()):
        raise EmbeddedServerError(
            what=f"the folder {home.path} belongs to user {found.st_uid}, and the server would run as "
            f"{home.account.name} ({home.account.uid})",
            next_step=f"Run Penstock as its owner, or: {CHOOSE_ANOTHER}",
        )
    is_private = found.st_uid == home.account.uid and not mode & 0o077
    if holds_other_things and not is_private:
        raise EmbeddedServerError(
            what=f"the folder {home.path} holds other things, and is not private to {home.account.name} "
            f"(user {found.st_uid}, mode {mode:04o})",
            next_step="Set PENSTOCK_HOME to an empty or a new folder.",
        )
