"""What a job was submitted with. It never changes, so a process asks once."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from penstock.errors import JobNotFound
from penstock.storage import jobs

_KEPT = 1000


async def read(connection: Any, job_id: int) -> Mapping[str, Any]:
    job = await jobs.get(connection, job_id)
    if job is None:
        raise JobNotFound(job_id)
    metadata: Mapping[str, Any] = job["metadata"]
    return metadata


class MetadataCache:
    """Of the jobs whose tasks run here: a handler may ask for every row."""

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._connect = connect
        self._kept: dict[int, Mapping[str, Any]] = {}

    async def of(self, job_id: int) -> Mapping[str, Any]:
        found = self._kept.get(job_id)
        if found is None:
            async with self._connect() as connection:
                found = await read(connection, job_id)
            if len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[job_id] = found
        return found
