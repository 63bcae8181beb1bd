"""`penstock status`: the one screen that `top` keeps fresh."""

import typer

from penstock.cli.stages import COLUMNS as STAGE_COLUMNS
from penstock.cli.stages import EMPTY as NO_STAGES
from penstock.cli.stages import TRANSPORT, as_row
from penstock.insight.overview import Overview, dead_letter_line, overview
from penstock.observe.wording import ago, size
from penstock.terminal.command import command
from penstock.terminal.output import Column, duration, shown, table_text
from penstock.terminal.readable import clean
from penstock.terminal.session import Session


def register(app: typer.Typer) -> None:
    @command(app)
    async def status(session: Session) -> None:
        """One screen: database, workers, stages, and what needs attention."""
        async with session.connection() as connection:
            found = await overview(connection, session.settings)
        session.out.show(found, lambda: screen(found))


_WORKER_COLUMNS = (
    Column(key="name", title="worker"),
    Column(key="pid", title="pid", right=True, show=str),
    Column(key="up", title="up", right=True),
    Column(key="heard", title="heard", right=True),
    Column(key="running", title="running"),
    Column(key="processors", title="processors", right=True),
    Column(key="version", title="version"),
)


def screen(found: Overview) -> str:
    parts = [_head(found), _workers(found), _stages(found)]
    if found.attention:
        lines = [f"  ! {clean(one.sentence)}  →  {clean(one.next_step)}" for one in found.attention]
        parts.append("needs attention\n" + "\n".join(lines))
    if found.newest_dead_letters:
        parts.append(_dead(found))
    return "\n\n".join(parts) + "\n"


def _head(found: Overview) -> str:
    waiting, running = sum(one.waiting for one in found.stages), sum(one.running for one in found.stages)
    out, failed = sum(one.ended_per_second for one in found.stages), sum(one.failed_last_hour for one in found.stages)
    oldest = max((one.oldest_wait_seconds for one in found.stages if one.oldest_wait_seconds is not None), default=None)
    wait = f" (oldest {duration(oldest)})" if oldest is not None else ""
    return (
        f"{found.database}, {size(found.size_bytes)} · {shown(found.read_at)}\n"
        f"{waiting:,} waiting{wait} · {running:,} running · {out:,.1f}/s out · {failed:,} failed in the last hour"
    )


def _workers(found: Overview) -> str:
    rows = [
        {
            "name": clean(one.name),
            "pid": one.pid,
            "up": duration((found.read_at - one.started_at).total_seconds()),
            "heard": f"{duration(max(one.silent_seconds, 0.0))} ago",
            "running": one.running,
            "processors": f"{one.busy:,}/{one.processors:,} busy",
            "version": one.version,
        }
        for one in found.workers
    ]
    return _table("workers", rows, _WORKER_COLUMNS, "none is running")


def _stages(found: Overview) -> str:
    brokers = any(one.transport not in (None, "postgres") or one.in_broker for one in found.stages)
    columns = (*STAGE_COLUMNS[:-1], TRANSPORT, STAGE_COLUMNS[-1]) if brokers else STAGE_COLUMNS
    return _table("stages", [as_row(one) for one in found.stages], columns, NO_STAGES)


def _table(title: str, rows: list[dict[str, object]], columns: tuple[Column, ...], empty: str) -> str:
    return table_text(rows, columns) if rows else f"{title}: {empty}"


def _dead(found: Overview) -> str:
    lines = []
    for one in found.newest_dead_letters:
        failed = ago(one.finished_at, found.read_at)
        lines.append(f"  task {one.task_id} of {one.pipeline}, {failed}: {clean(dead_letter_line(one))}")
    return "newest dead letters\n" + "\n".join(lines)
