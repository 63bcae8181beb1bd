"""One screen of the whole system: workers, stages, what needs attention. Read in one snapshot, without a count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from penstock.config import Settings
from penstock.engine.broker_stages import queue_name
from penstock.engine.observe.stage_measures import share
from penstock.engine.stage_transports import StageTransport, stage_transport, told_by_workers
from penstock.engine.wording import failure, rate, span, stage_label
from penstock.engine.worker_views import ProcessorView, WorkerView, processors_by_state, view_of_worker
from penstock.errors import NotKnown
from penstock.storage import dead_letters, dead_messages, reads, relay, server_state, workers
from penstock.storage.database import version_of
from penstock.storage.dead_letters import DeadLetterFilter

Connection = Any

_OLD_WAIT_SECONDS = 60.0
_NEWEST_DEAD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """``eta_seconds``: when the backlog would be gone at the present rate; None where nothing moves.

    ``mean_run_seconds`` is of the last hour. The rates are shares of what left the stage in the last hour, without what
    was cancelled: successes are DONE or moved on, failures ERROR; not found and skipped are neither. None where nothing
    was measured. ``retries_last_hour``: runs that burned an attempt and were tried again.
    ``told_by``: how its workers learn what to claim, by what they say themselves.
    ``in_broker``: of those that wait, how many a broker was told of.
    """

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
    mean_run_seconds: float | None
    mean_run_seconds_last_minute: float | None
    success_rate: float | None
    failure_rate: float | None
    runs_last_hour: int
    retries_last_hour: int
    max_attempts: int
    policy: Mapping[str, Any]
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    told_by: StageTransport
    in_broker: int

    @property
    def transport(self) -> str | None:
        return self.told_by.name

    @property
    def label(self) -> str:
        return stage_label(self.pipeline, self.stage)


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


async def overview(connection: Connection, settings: Settings | None = None) -> Overview:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = [one for one in await workers.listing(connection) if one["live"]]
        loads, rates = await reads.stage_load(connection), await reads.stage_rates(connection)
        dead = await dead_letters.page(connection, DeadLetterFilter(), after=None, limit=_NEWEST_DEAD)
        sent = {one.stage: one.sent for one in await relay.backlog(connection)}
        unread = await dead_messages.open_counts(connection)
        installation = await relay.installation(connection)
        taken = await server_state.database_size(connection)
        read_at = loads[0]["read_at"] if loads else await dead_letters.database_now(connection)
    views = tuple(
        _stage(load, rates.get(load["id"], {}), found, _transport(load, found, settings, installation), sent)
        for load in loads
    )
    return Overview(
        read_at=read_at,
        database=f"PostgreSQL {version_of(connection)}, database {taken['name']!r}",
        size_bytes=taken["size_bytes"],
        workers=tuple(view_of_worker(one) for one in found),
        stages=views,
        attention=(*_attention(views, bool(found), loads), *_of_brokers(views), *_of_messages(unread)),
        newest_dead_letters=dead.rows,
    )


def _stage(
    load: Mapping[str, Any],
    moved: Mapping[str, Any],
    live: Sequence[Mapping[str, Any]],
    told_by: StageTransport,
    sent: Mapping[int, int],
) -> StageView:
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
        processors=processors_by_state(live, label),
        oldest_wait_seconds=None if oldest is None else (load["read_at"] - oldest).total_seconds(),
        arrived_per_second=max(moved.get("arrived_per_second", 0.0), 0.0),
        ended_per_second=pace,
        eta_seconds=load["waiting"] / pace if pace > 0 and load["waiting"] else None,
        failed_last_hour=moved.get("failed_last_hour", 0),
        mean_run_seconds=moved.get("mean_run_seconds"),
        mean_run_seconds_last_minute=moved.get("mean_run_seconds_last_minute"),
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
        in_broker=sent.get(load["id"], 0),
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


def _of_brokers(views: Sequence[StageView]) -> list[Attention]:
    """Once per broker, however many stages it leaves without messages. Where it is, is for the doctor to say."""
    told = {one.told_by.name: one.told_by for one in views if one.told_by.away_seconds}
    return [
        Attention(
            sentence=f"{name} refuses its workers."
            if one.refused
            else f"No worker has reached {name} for {span(one.away_seconds)}.",
            next_step="`penstock doctor`",
        )
        for name, one in told.items()
    ]


def _of_messages(unread: Mapping[str, int]) -> list[Attention]:
    told = " and ".join(f"{count:,} of {name}" for name, count in unread.items())
    sentence = f"Nobody could read some messages: {told}."
    return [Attention(sentence=sentence, next_step="`penstock dead-letters messages list`")] if unread else []


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
