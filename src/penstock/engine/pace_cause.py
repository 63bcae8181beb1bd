"""What sets the pace of a stage that has a backlog: the words behind its ETA."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from penstock.engine.wording import rate, span
from penstock.storage.limits import KnownLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """``stops``: nothing gets past it, so the pace of the last minute says nothing about the end. ``due_later``:
    nothing of the stage is due before then."""

    sentence: str
    stops: bool
    due_later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is known of a stage at one moment. ``due_seconds``: until something of what waits could run, not above zero
    where something could now; None: nothing outside of paused lanes waits."""

    waiting: int
    running: int
    due_seconds: float | None
    max_running: int | None
    workers: int
    processors: Mapping[str, int]
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    held: int


def cause_of(load: Load, limit: KnownLimit | None) -> Cause | None:
    """In the order in which a claim would be stopped. None: nothing waits, or nothing holds it up that we know of."""
    if not load.waiting:
        return None
    if load.paused_at is not None:
        return Cause(sentence=paused(load.paused_by, load.pause_reason), stops=True)
    if not load.workers:
        return Cause(sentence="no live worker serves it", stops=True)
    # What meets a limit is put off until it opens, which is no reason to call it not due.
    held = None if limit is None else _by_limit(limit)
    if held is None and (later := _due_later(load)) is not None:
        return later
    if load.max_running is not None and load.running >= load.max_running:
        return Cause(sentence=f"at most {load.max_running:,} run at a time", stops=False)
    if held is not None:
        return Cause(sentence=held, stops=False)
    every = sum(load.processors.values())
    if every and load.processors.get("idle", 0) == 0:
        busy = f"all {every:,} processors are busy" if every > 1 else "its only processor is busy"
        return Cause(sentence=busy, stops=False)
    return None


def paused(by: str | None, reason: str | None) -> str:
    """ "paused by ann: lunch"."""
    return "paused" + (f" by {by}" if by else "") + (f": {reason}" if reason else "")


def next_due(seconds: float) -> str:
    return f"the next one is due in {span(seconds)}"


def _due_later(load: Load) -> Cause | None:
    if load.due_seconds is None:
        return Cause(sentence="what waits is in paused lanes", stops=True) if load.held else None
    if load.due_seconds > 0:
        return Cause(sentence=next_due(load.due_seconds), stops=True, due_later=True)
    return None


def _by_limit(limit: KnownLimit) -> str | None:
    if limit.open:
        return f"the circuit of {limit.key} is open"
    if limit.blocked_seconds > 0:
        return f"{limit.key} is closed for {span(limit.blocked_seconds)}"
    return f"limited by {limit.key} {rate(limit.rate)}" if limit.rate else None
