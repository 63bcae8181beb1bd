"""The folder everything lives in.

Nothing outside of it is changed, and nothing is made there but missing parents, and a socket folder in /tmp when
the home's path is too long for a socket.
"""

import hashlib
import os
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EmbeddedServerError

from .account import Account

SYSTEM_HOME = Path("/var/lib/penstock")
SHORT_FOLDER = Path("/tmp")
"""The same for every process, while TMPDIR and XDG_RUNTIME_DIR differ between a login and a cron job."""
SOCKET_NAME = ".s.PGSQL.5432"
LONGEST_SOCKET_PATH_BYTES = 103  # macOS; Linux allows 107
UNFIT_FOR_SOCKET = re.compile(r"[,\"'\\%@\x00-\x1f\x7f]|[^\x00-\x7f]")
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

    def write(self, path: Path, text: str) -> None:
        """Whole or not at all, owned by the server's user."""
        unfinished = path.with_name(path.name + ".new")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self.account.own(unfinished)
        unfinished.rename(path)

    def make_private_folder(self, path: Path) -> None:
        """Made by us or refused: in /tmp, a folder that somebody else prepared may be a trap."""
        try:
            path.mkdir(mode=PRIVATE)
        except FileExistsError:
            _refuse_unless_private(path, self.account)
        self.account.own(path)

    def remove_outside_socket_folder(self) -> None:
        """The short folder in /tmp is the one thing that would stay behind once the server has stopped."""
        folder = self.socket_folder
        if folder.parent == SHORT_FOLDER and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)


def prepare_home(path: Path, account: Account) -> Home:
    """Create or check the folder. Parents are made if missing, and never changed."""
    resolved = path.expanduser().resolve()
    home = Home(path=resolved, account=account)
    _refuse_unreachable(home)
    _make_parents(resolved, account)
    try:
        resolved.mkdir(mode=PRIVATE)
    except FileExistsError:
        _check_existing(resolved, account)
    account.own(resolved)
    for folder in (home.run, home.logs):
        home.make_private_folder(folder)
    return home


def _make_parents(path: Path, account: Account) -> None:
    """Those we make for another user must let that user through, whatever our umask; our own stay private."""
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(mode=PRIVATE, exist_ok=True)
            parent.chmod(0o755 if account.is_other else PRIVATE)


def _check_existing(path: Path, account: Account) -> None:
    """Only an empty folder or one of ours is made private: a home of ``/etc``, by mistake, must stay as it is."""
    if not path.is_dir():
        raise EmbeddedServerError(what=f"{path} is not a folder", next_step=CHOOSE_ANOTHER)
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    is_ours = not any(path.iterdir()) or (path / "run" / "start.lock").exists()
    if found.st_uid not in (account.uid, os.geteuid()):
        raise EmbeddedServerError(
            what=f"the folder {path} belongs to user {found.st_uid}, not to {account.name} ({account.uid})",
            next_step=f"Run Penstock as its owner, or: {CHOOSE_ANOTHER}",
        )
    if (found.st_uid != account.uid or mode & 0o077) and not is_ours:
        raise EmbeddedServerError(
            what=f"the folder {path} holds other things and is not private to {account.name} (mode {mode:04o})",
            next_step="Set PENSTOCK_HOME to an empty or a new folder.",
        )
    if mode != PRIVATE:
        path.chmod(PRIVATE)


def _refuse_unreachable(home: Home) -> None:
    """As root: the server's user has to get through every parent. To open them is not for us to decide."""
    if not home.account.is_other:
        return
    look = 'for folder do test -x "$folder" || { printf %s "$folder"; exit 1; }; done'
    parents = [parent for parent in reversed(home.path.parents) if parent.exists()]
    closed = home.account.run(["/bin/sh", "-c", look, "sh", *parents])
    if closed.returncode:
        raise EmbeddedServerError(
            what=f"the system user {home.account.name!r}, which runs the server for root, "
            f"may not pass through the folder {closed.stdout} on the way to {home.path}",
            next_step=f"Set PENSTOCK_HOME to a folder it can reach, such as {SYSTEM_HOME}. Nothing was changed.",
        )


def _refuse_unless_private(path: Path, account: Account) -> None:
    found = path.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (account.uid, os.geteuid()) or mode != PRIVATE:
        raise EmbeddedServerError(
            what=f"{path} should be a folder of user {account.uid} with mode 0700, "
            f"and is {stat.filemode(found.st_mode)} of user {found.st_uid}",
            next_step="See who made it, then remove it or give it back that owner and mode.",
        )
