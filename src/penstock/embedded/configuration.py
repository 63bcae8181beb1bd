"""Settings for a server that shares a laptop with its user, and never trades durability for speed."""

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import InvalidSetting

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
