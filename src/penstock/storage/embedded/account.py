"""The operating-system user the server runs as.

PostgreSQL refuses to run as root, and should: so root gets a system user of its own for it. Everybody else runs
the server as themselves.
"""

import grp
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EmbeddedServerError

SYSTEM_USER = "penstock"
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    uid: int
    gid: int
    name: str
    clients: tuple[str, ...]
    """Names of the operating-system users that may connect."""

    @property
    def is_other(self) -> bool:
        """True when we are root and the server runs as somebody else."""
        return self.uid != os.geteuid()

    def run(
        self,
        command: Sequence[str | Path],
        *,
        cwd: Path = Path("/"),
        text_in: str | None = None,
        error_file: int | None = None,
        timeout_seconds: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end as this user.

        In a session of its own, so that Ctrl-C in our terminal does not reach it, and with nothing of our
        environment that could change how PostgreSQL behaves (``PGDATA``, ``PGOPTIONS`` …).
        """
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=environment | {"LC_ALL": "C", "TZ": "UTC"},
            input=text_in,
            stdin=subprocess.DEVNULL if text_in is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if error_file is None else error_file,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
            start_new_session=True,
            umask=0o077,
            user=self.uid if self.is_other else None,
            group=self.gid if self.is_other else None,
            extra_groups=[] if self.is_other else None,
        )

    def own(self, path: Path) -> None:
        """Hand a file or folder that we made to the server's user."""
        if self.is_other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


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
    """Several processes may arrive at once: useradd locks the user database, so whoever loses looks again."""
    deadline = time.monotonic() + 10
    while (entry := _find_system_user()) is None:
        refusal = _add_system_user()
        if refusal and _find_system_user() is None and time.monotonic() > deadline:
            raise EmbeddedServerError(
                what=f"the system user {SYSTEM_USER!r}, which runs the server for root, is missing: {refusal}",
                next_step=f"Create a system user called {SYSTEM_USER!r}, or run Penstock as a normal user.",
            )
        if refusal:
            time.sleep(0.1)
    if entry.pw_uid == 0:
        raise EmbeddedServerError(
            what=f"the system user {SYSTEM_USER!r} is root itself (user number 0)",
            next_step="Give it a number of its own, or run Penstock as a normal user.",
        )
    return entry


def _find_system_user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return None


def _add_system_user() -> str:
    """Returns why it did not work, or nothing."""
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise EmbeddedServerError(
            what=f"it cannot run as root, and there is no useradd to create the system user {SYSTEM_USER!r}",
            next_step=f"Create a system user called {SYSTEM_USER!r}, or run Penstock as a normal user.",
        )
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
