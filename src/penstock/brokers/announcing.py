"""The reasons of a stage whose workers hear of its tasks from a broker: not announced, announced and not taken.

What workers know comes from their last heartbeats, the rest from the queue row and from who holds the relay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.observe.wording import ago, span, stage_label
from penstock.storage import relay

Connection = Any
# As ``reads.position`` returns it.
Position = Mapping[str, Any]

# A relay looks several times a second; beyond this something keeps it from looking.
_LATE_SECONDS = 10.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimed:
    """Why no worker has claimed a task of such a stage."""

    reason: Literal["broker_away", "no_relay", "announced", "not_announced", "due"]
    sentence: str
    next_step: str | None = None


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
        return Unclaimed(
            reason="broker_away",
            sentence=f"It is not announced yet, because {away}{cause}",
            next_step=f"{patience} `penstock doctor` says what to do about the broker.",
        )
    if not told.relayed:
        return Unclaimed(
            reason="no_relay",
            sentence=f"It is not announced yet, because nobody relays to {told.transport}.",
            next_step=f"{patience} Any worker whose settings name {told.transport} relays: start one, or read its log.",
        )
    return None


def waits_for_worker(row: Position, told: Telling) -> Unclaimed:
    """It is next, somebody has room, and the broker works."""
    if (sent_at := row["sent_at"]) is not None:
        sent = ago(sent_at, row["read_at"])
        return Unclaimed(
            reason="announced",
            sentence=f"It was announced to {told.transport} {sent}, and no worker has taken it.",
            next_step="It is announced again when PENSTOCK_RESEND_SECONDS have passed; until then nothing is lost.",
        )
    waited = (row["read_at"] - row["run_at"]).total_seconds()
    if waited > _LATE_SECONDS:
        return Unclaimed(
            reason="not_announced",
            sentence=f"It is due for {span(waited)} and was not announced to {told.transport}, although somebody"
            " relays.",
            next_step="Workers whose settings name another transport for the stage do that: `penstock doctor`.",
        )
    return Unclaimed(reason="due", sentence=f"It is due; the relay announces it to {told.transport} within a second.")


def bypassed(told: Telling | None) -> str:
    """Says that a broker which should tell of it does not; else nothing."""
    if told is None or not told.bypassed:
        return ""
    if told.away_seconds:
        cause = f"{told.transport} has been away for {span(told.away_seconds)}"
    else:
        cause = f"nothing came from {told.transport} for {span(told.silent_seconds)}"
    return f" Its stage is claimed from PostgreSQL meanwhile, because {cause}."
