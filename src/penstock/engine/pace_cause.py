"""What sets the pace of a stage that has a backlog: the words behind its ETA."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from penstock.engine.wording import rate, span
from penstock.storage.limits import KnownLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is known of a stage at one moment. ``due``: something of what waits could run now."""

    waiting: int
    running: int
    due: bool
    max_running: int | None
    workers: int
    processors: Mapping[str, int]
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    held: int


def cause_of(load: Load, limit: KnownLimit | None) -> str | None:
    """In the order in which a claim would be stopped. None: nothing waits, or nothing holds it up that we know of."""
    if not load.waiting:
        return None
    if load.paused_at is not None:
        who = f" by {load.paused_by}" if load.paused_by else ""
        return f"paused{who}" + (f": {load.pause_reason}" if load.pause_reason else "")
    if not load.workers:
        return "no live worker serves it"
    if load.max_running is not None and load.running >= load.max_running:
        return f"at most {load.max_running:,} run at a time"
    if limit is not None and (held := _by_limit(limit)) is not None:
        return held
    every = sum(load.processors.values())
    if every and load.processors.get("idle", 0) == 0:
        return f"all {every:,} processors are busy" if every > 1 else "its only processor is busy"
    if not load.due:
        return "what waits is in paused lanes" if load.held else "what waits is not due yet"
    return None


def _by_limit(limit: KnownLimit) -> str | None:
    if limit.open:
        return f"the circuit of {limit.key} is open"
    if limit.blocked_seconds > 0:
        return f"{limit.key} is closed for {span(limit.blocked_seconds)}"
    return f"limited by {limit.key} {rate(limit.rate)}" if limit.rate else None
