"""File locks that the kernel drops with the process, whatever the process died of."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.02


class LockTimeout(Exception):
    """Somebody else kept the lock for the whole time given."""


def open_lock_file(path: Path) -> int:
    """Not inherited by programs we start. Never written, but NFS locks only what is open for writing."""
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR
    return os.open(path, access | os.O_NOFOLLOW | os.O_CLOEXEC)


def try_lock(descriptor: int, kind: int) -> bool:
    """``kind`` is LOCK_SH or LOCK_EX. False means that another process is in the way."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def unlock(descriptor: int) -> None:
    """Said aloud instead of leaving it to ``close``: a forked child may hold a copy of the descriptor."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def wait_for_lock(descriptor: int, kind: int, *, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not try_lock(descriptor, kind):
        if time.monotonic() > deadline:
            raise LockTimeout
        time.sleep(POLL_SECONDS)


@contextmanager
def exclusive(path: Path, *, timeout_seconds: float) -> Iterator[None]:
    descriptor = open_lock_file(path)
    try:
        wait_for_lock(descriptor, fcntl.LOCK_EX, timeout_seconds=timeout_seconds)
        try:
            yield
        finally:
            unlock(descriptor)
    finally:
        os.close(descriptor)
