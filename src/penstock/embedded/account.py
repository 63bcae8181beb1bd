"""The operating-system user the server runs as.

PostgreSQL refuses to run as root, and should: so root gets a system user of its own for it. Everybody else
runs the server as themselves.
"""

import grp
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EmbeddedServerError

from . import locks

SYSTEM_USER = "penstock"
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
USERADD_PATIENCE_SECONDS = 30

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whatever happens inside the home folder is done as this user, also when we are root.

    Root writing into a folder of another user would follow the links that this user may have put there.
    """

    uid: int
    gid: int
    name: str
    clients: tuple[str, ...]
    """Names of the operating-system users that may connect."""

    @property
    def is_other(self) -> bool:
        """True when we are root and the server runs as somebody else."""
        return self.uid != os.geteuid()

    def start(
        self, command: Command, *, cwd: Path = Path("/"), stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        """In a session of its own, so that Ctrl-C in our terminal does not reach it, and with nothing of our
        environment that could change how PostgreSQL behaves (``PGDATA``, ``PGOPTIONS`` …).
        """
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        return subprocess.Popen(
            [os.fspath(part) for part in command],
            cwd=cwd,
            env=environment | {"LC_ALL": "C", "TZ": "UTC"},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
            user=self.uid if self.is_other else None,
            group=self.gid if self.is_other else None,
            extra_groups=[] if self.is_other else None,
        )

    def run(
        self, command: Command, *, cwd: Path = Path("/"), text_in: str = "", timeout_seconds: float = 60
    ) -> tuple[int, str]:
        """To the end. Returns the exit code and everything it said."""
        with self.start(command, cwd=cwd, stdin=subprocess.PIPE) as process:
            try:
                said, _ = process.communicate(text_in.encode(), timeout=timeout_seconds)
            except BaseException:
                process.kill()
                raise
        return process.returncode, said.decode(errors="replace").strip()

    def run_script(self, script: str, *arguments: str | Path, text_in: str = "") -> tuple[int, str]:
        """A line of shell, with its arguments as ``$1`` and on, so that no path needs quoting."""
        return self.run(["/bin/sh", "-c", script, "sh", *arguments], text_in=text_in)


def server_account() -> Account:
    if os.geteuid() != 0:
        return _own_account()
    entry = _system_user()
    return Account(uid=entry.pw_uid, gid=entry.pw_gid, name=entry.pw_name, clients=("root", entry.pw_name))


def _own_account() -> Account:
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedServerError(
            what=f"the operating-system user with number {uid} has no name, and PostgreSQL needs one",
            next_step="Add the user to /etc/passwd, or set PENSTOCK_DATABASE_URL to an existing server.",
        ) from None
    return Account(uid=uid, gid=os.getegid(), name=entry.pw_name, clients=(entry.pw_name,))


def _system_user() -> pwd.struct_passwd:
    entry = _find_system_user() or _make_system_user()
    if entry.pw_uid == 0:
        raise _no_system_user("a user of that name has the number 0, which is root")
    return entry


def _make_system_user() -> pwd.struct_passwd:
    """One at a time: of two useradds for one name, the second gives the user another number, without a word.

    The lock is on the folder of the user database, which leaves no trace there.
    """
    try:
        with locks.exclusive(Path("/etc"), timeout_seconds=USERADD_PATIENCE_SECONDS):
            entry = _find_system_user()
            refusal = "" if entry else _add_system_user()
    except locks.LockTimeout:
        raise _no_system_user("another process has been creating it for too long") from None
    entry = entry or _find_system_user()
    if entry is None:
        raise _no_system_user(refusal)
    return entry


def _no_system_user(reason: str) -> EmbeddedServerError:
    return EmbeddedServerError(
        what=f"it cannot run as root, and there is no system user {SYSTEM_USER!r} to run it: {reason}",
        next_step=f"Create a system user called {SYSTEM_USER!r}, or run Penstock as a normal user.",
    )


def _find_system_user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return None


def _add_system_user() -> str:
    """Returns why it did not work, or nothing."""
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise _no_system_user("useradd, which would create it, is not installed")
    group = ["--gid", SYSTEM_USER] if _group_exists() else ["--user-group"]
    nowhere = ["--no-create-home", "--home-dir", "/nonexistent", "--shell", _no_login()]
    command = [program, "--system", *nowhere, *group, SYSTEM_USER]
    added = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return "" if added.returncode == 0 else added.stderr.strip() or f"useradd ended with {added.returncode}"


def _group_exists() -> bool:
    try:
        grp.getgrnam(SYSTEM_USER)
    except KeyError:
        return False
    return True


def _no_login() -> str:
    candidates = ("/usr/sbin/nologin", "/sbin/nologin")
    return next((shell for shell in candidates if os.path.exists(shell)), "/bin/false")
