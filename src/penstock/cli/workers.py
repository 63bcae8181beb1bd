"""`penstock workers`"""

from dataclasses import asdict
from datetime import datetime
from typing import Any

import typer

from penstock.insight.overview import overview
from penstock.insight.worker_views import WorkerView
from penstock.terminal.command import command
from penstock.terminal.output import Column, duration
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

EMPTY = "No worker is running. `penstock worker --app module:name` starts one, `penstock up` everything."

COLUMNS = (
    Column(key="id", title="worker", right=True, show=str),
    Column(key="name", title="name"),
    Column(key="pid", title="pid", right=True, show=str),
    Column(key="up", title="up", right=True),
    Column(key="heard", title="heard", right=True),
    Column(key="processors", title="processors", right=True),
    Column(key="looked", title="health", right=True),
    Column(key="found", title="found"),
)


def register(app: typer.Typer) -> None:
    @command(app)
    async def workers(session: Session) -> None:
        """Every worker that lives, with what its last look at itself found. It looks every PENSTOCK_HEALTH_SECONDS."""
        async with session.connection() as connection:
            seen = await overview(connection)
        if session.out.json:
            session.out.emit([asdict(one) for one in seen.workers])
            return
        session.out.table([_row(one, seen.read_at) for one in seen.workers], COLUMNS, empty=EMPTY)


def _row(one: WorkerView, now: datetime) -> dict[str, Any]:
    health = one.health
    ill = f", {one.error:,} error" if one.error else ""
    return {
        "id": one.id,
        "name": clean(one.name),
        "pid": one.pid,
        "up": duration((now - one.started_at).total_seconds()),
        "heard": f"{duration(max(one.silent_seconds, 0.0))} ago",
        "processors": f"{one.busy:,}/{one.processors:,} busy{ill}",
        "looked": "not yet" if health is None else f"{duration(max((now - health.at).total_seconds(), 0.0))} ago",
        "found": "–" if health is None else clean("; ".join(health.problems)) or "all is well",
    }
