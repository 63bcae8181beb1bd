"""One screen of the whole system: workers, stages, what needs attention. Read in one snapshot, without a count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from penstock.brokers.stage_transports import StageTransport, queue_name, stage_transport, told_by_workers
from penstock.config import Settings
from penstock.errors import NotKnown
from penstock.insight.history import slow_seconds
from penstock.insight.stage_views import (
    OLD_SKEW_SECONDS,
    Attention,
    StageView,
    attention_of,
)
from penstock.insight.waiting import Waiting, cause_of, limited_by, paused_stage
from penstock.insight.worker_views import ProcessorView, WorkerView, processors_by_state, view_of_worker
from penstock.observe.stage_measures import share
from penstock.observe.wording import failure, stage_label
from penstock.storage import dead_letters, dead_messages, jobs, limits, reads, relay, server_state, statistics, workers
from penstock.storage.dead_letters import DeadLetter, DeadLetterFilter
from penstock.storage.dialer import version_of
from penstock.storage.limits import KnownLimit
from penstock.storage.statistics import RUN_BUCKETS, WAIT_BUCKETS

Connection = Any

_NEWEST_DEAD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    read_at: datetime
    database: str
    size_bytes: int
    workers: tuple[WorkerView, ...]
    stages: tuple[StageView, ...]
    attention: tuple[Attention, ...]
    newest_dead_letters: tuple[DeadLetter, ...]
    # Of all stages together, in the last hour.
    run_p95_seconds: float | None
    wait_p95_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was read in one snapshot besides the load of a stage. ``live``: workers; the rest by stage."""

    live: Sequence[Mapping[str, Any]]
    rates: Mapping[int, Mapping[str, Any]]
    spread: Mapping[int, Mapping[int, int]]
    sent: Mapping[int, int]
    limits: Mapping[str, KnownLimit]


async def overview(connection: Connection, settings: Settings | None = None) -> Overview:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = [one for one in await workers.listing(connection) if one["live"]]
        loads = await reads.stage_load(connection)
        dead = await dead_letters.page(connection, DeadLetterFilter(), after=None, limit=_NEWEST_DEAD)
        keys = sorted({key for one in found for key in _held_up(one).values()})
        seen = _Seen(
            live=found,
            rates=await reads.stage_rates(connection),
            spread=await statistics.spread(connection),
            sent={one.stage: one.sent for one in await relay.backlog(connection)},
            limits={one.key: one for one in await limits.known(connection, keys)} if keys else {},
        )
        skewed = await reads.skewed(connection, OLD_SKEW_SECONDS)
        unread = await dead_messages.open_counts(connection)
        installation = await relay.installation(connection)
        taken = await server_state.database_size(connection)
        read_at = loads[0]["read_at"] if loads else await jobs.database_now(connection)
    views = tuple(_stage(load, seen, _transport(load, found, settings, installation)) for load in loads)
    return Overview(
        read_at=read_at,
        database=f"PostgreSQL {version_of(connection)}, database {taken['name']!r}",
        size_bytes=taken["size_bytes"],
        workers=tuple(view_of_worker(one) for one in found),
        stages=views,
        attention=tuple(attention_of(views, loads, any_worker=bool(found), skewed=skewed, unread=unread)),
        newest_dead_letters=dead.rows,
        run_p95_seconds=slow_seconds(list(seen.spread.values()), RUN_BUCKETS),
        wait_p95_seconds=slow_seconds(list(seen.spread.values()), WAIT_BUCKETS),
    )


def _held_up(worker: Mapping[str, Any]) -> dict[str, str]:
    """By the label of a stage: the key that held a task of it up in the last minute."""
    told = {label: one.get("held_up_by") for label, one in worker["status"].get("stages", {}).items()}
    return {label: str(key) for label, key in told.items() if key}


def _stage(load: Mapping[str, Any], seen: _Seen, told_by: StageTransport) -> StageView:
    label = stage_label(load["pipeline"], load["name"])
    moved, spread = seen.rates.get(load["id"], {}), seen.spread.get(load["id"], {})
    pace = max(moved.get("ended_per_second", 0.0), 0.0)
    oldest = load["oldest_at"]
    serving = sum(load["id"] in one["stages"] for one in seen.live)
    processors = processors_by_state(seen.live, label)
    held_up_by = next((key for one in seen.live if (key := _held_up(one).get(label))), None)
    limit, next_at = seen.limits.get(held_up_by or ""), load["next_at"]
    cause = cause_of(
        Waiting(
            waiting=load["waiting"] > 0,
            stage_paused=paused_stage(load),
            lane_paused=next_at is None and load["held"] > 0,
            due_seconds=0.0 if next_at is None else (next_at - load["read_at"]).total_seconds(),
            served=serving > 0,
            running=load["running"],
            max_running=load["max_running"],
            limited_by=None if limit is None else limited_by(limit),
            processors=processors,
        )
    )
    return StageView(
        pipeline=load["pipeline"],
        stage=load["name"],
        application=load["application"],
        waiting=load["waiting"],
        running=load["running"],
        max_running=load["max_running"],
        workers=serving,
        processors=processors,
        oldest_wait_seconds=None if oldest is None else (load["read_at"] - oldest).total_seconds(),
        arrived_per_second=max(moved.get("arrived_per_second", 0.0), 0.0),
        ended_per_second=pace,
        eta_seconds=load["waiting"] / pace if pace > 0 and load["waiting"] and not (cause and cause.stops) else None,
        eta_cause=None if cause is None else cause.sentence,
        held_up_by=held_up_by,
        failed_last_hour=moved.get("failed_last_hour", 0),
        mean_run_seconds=moved.get("mean_run_seconds"),
        mean_run_seconds_last_minute=moved.get("mean_run_seconds_last_minute"),
        run_p95_seconds=slow_seconds([spread], RUN_BUCKETS),
        wait_p95_seconds=slow_seconds([spread], WAIT_BUCKETS),
        success_rate=share(moved, "went_well_last_hour"),
        failure_rate=share(moved, "failed_last_hour"),
        runs_last_hour=moved.get("runs_last_hour", 0),
        retries_last_hour=moved.get("retries_last_hour", 0),
        max_attempts=load["max_attempts"],
        policy=load["policy"],
        paused_at=load["paused_at"],
        paused_by=load["paused_by"],
        pause_reason=load["pause_reason"],
        told_by=told_by,
        in_broker=seen.sent.get(load["id"], 0),
    )


def _transport(
    load: Mapping[str, Any], live: Sequence[Mapping[str, Any]], settings: Settings | None, installation: UUID
) -> StageTransport:
    """Of a stage without a live worker by ``settings``, if there are any."""
    said = told_by_workers(live, stage_label(load["pipeline"], load["name"]))
    if settings is None:
        return stage_transport(said, configured=None)
    configured = settings.transport_of(load["pipeline"], load["name"])
    return stage_transport(said, configured=configured, queue=queue_name(settings, installation, load["id"]))


def of_stage(seen: Overview, label: str) -> tuple[StageView, list[tuple[WorkerView, ProcessorView]]]:
    """One stage and its processors that are not idle, with their workers. ``label`` also as pipeline/stage."""
    for view in seen.stages:
        if label in (view.label, f"{view.pipeline}/{view.stage}"):
            busy = [(worker, one) for worker in seen.workers for one in worker.at_work if one.stage == view.label]
            return view, sorted(busy, key=lambda pair: (pair[1].state != "error", pair[1].since))
    raise NotKnown(kind="stage", name=label, known=[view.label for view in seen.stages])


def dead_letter_line(letter: DeadLetter) -> str:
    return failure(letter.error.get("type"), letter.error.get("message"), 100) or "no cause was recorded"
