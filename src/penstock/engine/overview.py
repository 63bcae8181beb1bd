"""One screen of the whole system: workers, stages, what needs attention. Read in one snapshot, without a count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.engine.wording import failure, rate, span, stage_label
from penstock.storage import dead_letters, reads, server_state, workers
from penstock.storage.database import version_of
from penstock.storage.dead_letters import DeadLetterFilter

Connection = Any

_OLD_WAIT_SECONDS = 60.0
_NEWEST_DEAD = 5


_DECISIONS = ("claim", "inbox", "ewma_ms", "cpu_factor", "memory_factor", "errors_factor", "retry_spacing")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """``eta_seconds``: when the backlog would be gone at the present rate; None where nothing moves."""

    pipeline: str
    stage: str
    waiting: int
    running: int
    max_running: int | None
    workers: int
    processors: Mapping[str, int]
    oldest_wait_seconds: float | None
    arrived_per_second: float
    ended_per_second: float
    eta_seconds: float | None
    failed_last_hour: int
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None

    @property
    def label(self) -> str:
        return stage_label(self.pipeline, self.stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    id: int
    name: str
    host: str
    pid: int
    version: str
    started_at: datetime
    silent_seconds: float
    running: int
    busy: int
    processors: int
    stages: int
    # Per stage: how much it claims and why, and what shrinks that, as its last heartbeat told.
    decisions: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Something a person should know, and the command that shows or ends it."""

    sentence: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    read_at: datetime
    database: str
    size_bytes: int
    workers: tuple[WorkerView, ...]
    stages: tuple[StageView, ...]
    attention: tuple[Attention, ...]
    newest_dead_letters: tuple[Mapping[str, Any], ...]


async def overview(connection: Connection) -> Overview:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = [one for one in await workers.listing(connection) if one["live"]]
        loads, rates = await reads.stage_load(connection), await reads.stage_rates(connection)
        dead = await dead_letters.page(connection, DeadLetterFilter(), after=None, limit=_NEWEST_DEAD)
        taken = await server_state.database_size(connection)
        read_at = loads[0]["read_at"] if loads else await dead_letters.database_now(connection)
    views = tuple(_stage(load, rates.get(load["id"], {}), found) for load in loads)
    return Overview(
        read_at=read_at,
        database=f"PostgreSQL {version_of(connection)}, database {taken['name']!r}",
        size_bytes=taken["size_bytes"],
        workers=tuple(_worker(one) for one in found),
        stages=views,
        attention=tuple(_attention(views, bool(found), loads)),
        newest_dead_letters=dead.rows,
    )


def _stage(load: Mapping[str, Any], moved: Mapping[str, Any], live: Sequence[Mapping[str, Any]]) -> StageView:
    label = stage_label(load["pipeline"], load["name"])
    pace = max(moved.get("ended_per_second", 0.0), 0.0)
    oldest = load["oldest_at"]
    return StageView(
        pipeline=load["pipeline"],
        stage=load["name"],
        waiting=load["waiting"],
        running=load["running"],
        max_running=load["max_running"],
        workers=sum(load["id"] in one["stages"] for one in live),
        processors=_processors(live, label),
        oldest_wait_seconds=None if oldest is None else (load["read_at"] - oldest).total_seconds(),
        arrived_per_second=max(moved.get("arrived_per_second", 0.0), 0.0),
        ended_per_second=pace,
        eta_seconds=load["waiting"] / pace if pace > 0 and load["waiting"] else None,
        failed_last_hour=moved.get("failed_last_hour", 0),
        paused_at=load["paused_at"],
        paused_by=load["paused_by"],
        pause_reason=load["pause_reason"],
    )


def _processors(live: Sequence[Mapping[str, Any]], label: str | None) -> dict[str, int]:
    """Over all live workers, as of their last heartbeats."""
    total: dict[str, int] = {}
    for one in live:
        for stage, told in one["status"].get("stages", {}).items():
            if label in (None, stage):
                for state, count in told.get("processors", {}).items():
                    total[state] = total.get(state, 0) + count
    return total


def _worker(row: Mapping[str, Any]) -> WorkerView:
    processors = _processors([row], None)
    return WorkerView(
        id=row["id"],
        name=row["name"],
        host=row["host"],
        pid=row["pid"],
        version=row["version"],
        started_at=row["started_at"],
        silent_seconds=row["silent_seconds"],
        running=len(row["running"]),
        busy=processors.get("busy", 0),
        processors=sum(processors.values()),
        stages=len(row["stages"]),
        decisions={
            label: {name: seen.get(name) for name in _DECISIONS}
            for label, seen in (row["status"] or {}).get("stages", {}).items()
        },
    )


def _attention(views: Sequence[StageView], any_worker: bool, loads: Sequence[Mapping[str, Any]]) -> list[Attention]:
    found = []
    if not any_worker:
        found.append(
            Attention(
                sentence="No worker is running.", next_step="`penstock worker --app module:name`, or `penstock up`"
            )
        )
    for view, load in zip(views, loads, strict=True):
        found += _of_stage(view, held=load["held"], any_worker=any_worker)
    return found


def _of_stage(view: StageView, *, held: int, any_worker: bool) -> list[Attention]:
    found = []
    if view.paused_at is not None:
        who = f" by {view.paused_by}" if view.paused_by else ""
        why = f": {view.pause_reason}" if view.pause_reason else ""
        found.append(
            Attention(
                sentence=f"Stage {view.label} is paused{who}{why}.",
                next_step=f"`penstock stages resume {view.label}`",
            )
        )
    if view.waiting and any_worker and not view.workers:
        found.append(
            Attention(
                sentence=f"{view.waiting:,} tasks wait in stage {view.label}, and no live worker serves it.",
                next_step="`penstock worker --app module:name`",
            )
        )
    if held:
        lanes = "1 lane" if held == 1 else f"{held:,} lanes"
        found.append(
            Attention(sentence=f"{lanes} of {view.label} with tasks are paused.", next_step="`penstock lanes list`")
        )
    if view.failed_last_hour:
        found.append(
            Attention(
                sentence=f"{view.failed_last_hour:,} tasks of {view.label} failed in the last hour.",
                next_step=f"`penstock dead-letters list --pipeline {view.pipeline}`",
            )
        )
    if view.workers and (view.oldest_wait_seconds or 0) > _OLD_WAIT_SECONDS:
        pace = f"; {rate(view.ended_per_second)} leave it" if view.ended_per_second else ""
        cause = f", limited to {view.max_running:,} at a time" if view.max_running else ""
        wait = span(view.oldest_wait_seconds or 0)
        found.append(
            Attention(
                sentence=f"The oldest task of {view.label} is due for {wait}{pace}{cause}.",
                next_step="More workers or a larger pool shorten the wait.",
            )
        )
    return found


def dead_letter_line(letter: Mapping[str, Any]) -> str:
    return failure(letter["error"].get("type"), letter["error"].get("message"), 100) or "no cause was recorded"
