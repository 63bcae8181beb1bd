"""Which stages a broker serves, and what their queues are called."""

from dataclasses import dataclass
from uuid import UUID

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
