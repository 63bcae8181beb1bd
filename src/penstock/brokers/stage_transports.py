"""Which stages a broker serves, what their queues are called, and how live workers hear of a stage's tasks.

Workers say it in their heartbeats; the settings at hand are second best: the settings of whoever
looks are those of another process, often of another machine, and may differ from the
fleet's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from penstock.brokers.redis.names import Names
from penstock.brokers.transport import PRIORITIES
from penstock.config import Settings
from penstock.observe.wording import stage_label


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
