"""Which stages a broker serves, what their queues are called, how live workers hear of a stage's tasks, and why no
worker has claimed one that a broker should announce.

What workers know comes from their last heartbeats. The settings at hand are second best: they are those of another
process, often of another machine, and may differ from the fleet's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from penstock.brokers.redis.names import Names
from penstock.brokers.transport import PRIORITIES
from penstock.config import Settings
from penstock.observe.wording import ago, span, stage_label
from penstock.storage import relay

Connection = Any
# As ``reads.position`` returns it.
Position = Mapping[str, Any]
# Why no worker has claimed a task of a stage that a broker should tell of, in a sentence, and the next step.
Unclaimed = tuple[Literal["broker_away", "no_relay", "announced", "not_announced", "due"], str, str | None]

# A relay looks several times a second; beyond this something keeps it from looking.
_LATE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStage:
    """``type``: what messages of the stage call it."""

    id: int
    pipeline: str
    type: str
    queue: str


def queue_name(settings: Settings, installation: UUID, stage: int) -> str:
    """By installation: databases that share a broker, also one that was made anew, do not get each other's messages."""
    return f"{settings.broker_prefix}.{installation.hex[:8]}.{stage}"


def broker_stage(settings: Settings, installation: UUID, stage: int, pipeline: str, name: str) -> BrokerStage:
    return BrokerStage(
        id=stage,
        pipeline=pipeline,
        type=stage_label(pipeline, name),
        queue=queue_name(settings, installation, stage),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTransport:
    """``name``: several where workers differ, None where nobody says. ``configured_here``: no live worker said it.

    ``silent_seconds``: nothing came; ``away_seconds``: no worker reaches the broker, or it refuses all of them.
    ``queues``: what they are called in the broker, most urgent first.
    """

    name: str | None
    configured_here: bool
    bypassed: bool = False
    silent_seconds: float = 0.0
    away_seconds: float = 0.0
    refused: bool = False
    problem: str | None = None
    next_step: str | None = None
    queues: tuple[str, ...] = ()


def told_by_workers(live: Iterable[Mapping[str, Any]], label: str) -> list[Mapping[str, Any]]:
    """What each live worker of the stage says of its transport. An older one says nothing."""
    said = (one["status"].get("stages", {}).get(label, {}) for one in live)
    return [one for one in said if "transport" in one]


def stage_transport(
    said: Sequence[Mapping[str, Any]], *, configured: str | None, queue: str | None = None
) -> StageTransport:
    """``configured`` and ``queue``: by the settings at hand, for a stage without a live worker."""
    if not said:
        return StageTransport(name=configured, configured_here=True, queues=queues_of(configured, queue))
    names = sorted({str(one["transport"]) for one in said})
    brokers = [one for one in said if one["transport"] != "postgres"]
    if not brokers:
        return StageTransport(name=", ".join(names), configured_here=False)
    nearest = min(brokers, key=lambda one: float(one.get("away_seconds", 0.0)))
    return StageTransport(
        name=", ".join(names),
        configured_here=False,
        bypassed=all(one.get("bypassed", False) for one in brokers),
        silent_seconds=min(float(one.get("silent_seconds", 0.0)) for one in brokers),
        away_seconds=float(nearest.get("away_seconds", 0.0)),
        refused=bool(nearest.get("refused", False)),
        problem=nearest.get("problem"),
        next_step=nearest.get("next_step"),
        queues=queues_of(str(nearest["transport"]), nearest.get("queue")),
    )


def queues_of(transport: str | None, queue: str | None) -> tuple[str, ...]:
    """As the broker's own tools show them."""
    if queue is None or transport in (None, "postgres"):
        return ()
    if transport == "redis":
        return Names(queue).streams
    from penstock.brokers.rabbitmq.queues import part_name  # late: brings a library along

    return tuple(part_name(queue, urgency) for urgency in range(len(PRIORITIES)))


# ---------------------------------------------------------------- not claimed yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How live workers hear of a stage's tasks, where all of them hear from a broker.

    ``bypassed``: some of them claim it from PostgreSQL meanwhile. ``problem``: what the broker says, or what is said
    about it, where no worker reaches it.
    """

    transport: str
    bypassed: bool
    silent_seconds: float
    away_seconds: float
    problem: str | None
    relayed: bool


async def telling(connection: Connection, row: Position, live: Sequence[Mapping[str, Any]]) -> Telling | None:
    """By the stage's workers. None where somebody claims the stage from PostgreSQL anyway, or says nothing about it."""
    if row["stage_limit"] is not None or row["lane_limit"] is not None:
        return None
    label = stage_label(row["pipeline"], row["stage_name"])
    said = [one["status"].get("stages", {}).get(label, {}) for one in live]
    if not said or any(one.get("transport", "postgres") == "postgres" for one in said):
        return None
    transport = str(said[0]["transport"])
    # The broker is away when no worker reaches it; the one that hears most is the measure.
    away = min(one.get("away_seconds", 0.0) for one in said)
    problems = [str(one["problem"]) for one in said if one.get("problem")]
    return Telling(
        transport=transport,
        bypassed=any(one.get("bypassed", False) for one in said),
        silent_seconds=min(one.get("silent_seconds", 0.0) for one in said),
        away_seconds=away,
        problem=problems[0] if problems and away else None,
        relayed=await relay.held(connection, transport),
    )


def untold(row: Position, told: Telling | None) -> Unclaimed | None:
    """Nobody can announce it, and nobody looks for himself yet: what is ahead of it does not matter then."""
    if told is None or told.bypassed or row["sent_at"] is not None:
        return None
    patience = "Workers claim it from PostgreSQL when they have heard nothing for PENSTOCK_BROKER_PATIENCE_SECONDS."
    if told.away_seconds:
        away = f"{told.transport} has been away for {span(told.away_seconds)}"
        cause = f": {told.problem}" if told.problem else "."
        step = f"{patience} `penstock doctor` says what to do about the broker."
        return "broker_away", f"It is not announced yet, because {away}{cause}", step
    if not told.relayed:
        step = f"{patience} Any worker whose settings name {told.transport} relays: start one, or read its log."
        return "no_relay", f"It is not announced yet, because nobody relays to {told.transport}.", step
    return None


def waits_for_worker(row: Position, told: Telling) -> Unclaimed:
    """It is next, somebody has room, and the broker works."""
    if (sent_at := row["sent_at"]) is not None:
        sent = ago(sent_at, row["read_at"])
        step = "It is announced again when PENSTOCK_RESEND_SECONDS have passed; until then nothing is lost."
        return "announced", f"It was announced to {told.transport} {sent}, and no worker has taken it.", step
    waited = (row["read_at"] - row["run_at"]).total_seconds()
    if waited > _LATE_SECONDS:
        due = f"It has been due for {span(waited)} and was not announced to {told.transport}, although somebody relays."
        return (
            "not_announced",
            due,
            "Workers whose settings name another transport for the stage do that: `penstock doctor`.",
        )
    return "due", f"It is due; the relay announces it to {told.transport} within a second.", None


def bypassed(told: Telling | None) -> str:
    """Says that a broker which should tell of it does not; else nothing."""
    if told is None or not told.bypassed:
        return ""
    if told.away_seconds:
        cause = f"{told.transport} has been away for {span(told.away_seconds)}"
    else:
        cause = f"nothing came from {told.transport} for {span(told.silent_seconds)}"
    return f" Its stage is claimed from PostgreSQL meanwhile, because {cause}."
