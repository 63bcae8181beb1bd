"""Workers and their leases. One function per query of ``sql/workers.sql``."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from penstock.storage.queries import Affected, Column, Command, Connection, decoded, load
from penstock.version import VERSION

_sql = load("workers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What a supervisor tells about one of its runners. ``running``: the leases whose handlers have started."""

    worker: int
    running: Sequence[int]
    status: dict[str, Any]


async def register(
    connection: Connection,
    *,
    supervisor: UUID,
    name: str,
    stages: Sequence[int],
    lease_seconds: float,
) -> int:
    """Of this process, which sends its heartbeats."""
    host, pid = socket.gethostname(), os.getpid()
    return int(await connection.fetchval(_sql.register, supervisor, name, host, pid, VERSION, stages, lease_seconds))


async def heartbeat(connection: Connection, beats: Sequence[Heartbeat], lease_seconds: float) -> set[int]:
    """Returns the workers whose lease was renewed; one that is missing was declared dead."""
    rows = await connection.fetch(
        _sql.heartbeat,
        [beat.worker for beat in beats],
        lease_seconds,
        [orjson.dumps(list(beat.running)).decode() for beat in beats],
        [orjson.dumps(beat.status).decode() for beat in beats],
    )
    return {row["id"] for row in rows}


set_stages = Command[[int, Sequence[int]]](_sql.set_stages)  # worker, stages
stop = Command[[Sequence[int]]](_sql.stop)  # workers
declare_dead = Column[[], int](_sql.declare_dead)
declare_dead_by_supervisor = Command[[int]](_sql.declare_dead_by_supervisor)  # worker
forget = Affected[[float]](_sql.forget)  # after_seconds


async def listing(connection: Connection, *, gone_too: bool = False) -> list[dict[str, Any]]:
    return [decoded(row, "status") for row in await connection.fetch(_sql.list, gone_too)]
