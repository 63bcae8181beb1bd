"""The reasons of a stage whose workers hear of its tasks from a broker: not announced, announced and not taken.

What workers know comes from their last heartbeats, the rest from the queue row and from who holds the relay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.engine.why_position import Position, Reason, Why, because, stage_of
from penstock.engine.wording import ago, span
from penstock.storage import reads, relay

Connection = Any

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


async def telling(connection: Connection, row: Position) -> Telling | None:
    """None where somebody claims the stage from PostgreSQL anyway, or says nothing about it."""
    if row["stage_limit"] is not None or row["lane_limit"] is not None:
        return None
    label = stage_of(row)
    servers = await reads.servers_of_stage(connection, row["stage"])
    said = [one["status"].get("stages", {}).get(label, {}) for one in servers if one["live"]]
    if not said or any(one.get("transport", "postgres") == "postgres" for one in said):
        return None
    transport = str(said[0]["transport"])
    return _gathered(transport, said, relayed=await relay.held(connection, transport))


def _gathered(transport: str, said: Sequence[Mapping[str, Any]], *, relayed: bool) -> Telling:
    """The broker is away when no worker reaches it; the one that hears most is the measure."""
    away = min(one.get("away_seconds", 0.0) for one in said)
    problems = [str(one["problem"]) for one in said if one.get("problem")]
    return Telling(
        transport=transport,
        bypassed=any(one.get("bypassed", False) for one in said),
        silent_seconds=min(one.get("silent_seconds", 0.0) for one in said),
        away_seconds=away,
        problem=problems[0] if problems and away else None,
        relayed=relayed,
    )


def untold(row: Position, told: Telling | None) -> Why | None:
    """Nobody can announce it, and nobody looks for himself yet: what is ahead of it does not matter then."""
    if told is None or told.bypassed or row["sent_at"] is not None:
        return None
    patience = "Workers claim it from PostgreSQL when they have heard nothing for PENSTOCK_BROKER_PATIENCE_SECONDS."
    if told.away_seconds:
        cause = f": {told.problem}" if told.problem else "."
        return because(
            row,
            Reason.BROKER_AWAY,
            f"It is not announced yet, because {told.transport} has been away for {span(told.away_seconds)}{cause}",
            next_step=f"{patience} `penstock doctor` says what to do about the broker.",
        )
    if not told.relayed:
        return because(
            row,
            Reason.NO_RELAY,
            f"It is not announced yet, because nobody relays to {told.transport}.",
            next_step=f"{patience} Any worker whose settings name {told.transport} relays: start one, or read its log.",
        )
    return None


def waits_for_worker(row: Position, told: Telling) -> Why:
    """It is next, somebody has room, and the broker works."""
    if (sent_at := row["sent_at"]) is not None:
        return because(
            row,
            Reason.ANNOUNCED,
            f"It was announced to {told.transport} {ago(sent_at, row['read_at'])}, and no worker has taken it.",
            next_step="It is announced again when PENSTOCK_RESEND_SECONDS have passed; until then nothing is lost.",
        )
    waited = (row["read_at"] - row["run_at"]).total_seconds()
    if waited > _LATE_SECONDS:
        return because(
            row,
            Reason.NOT_ANNOUNCED,
            f"It is due for {span(waited)} and was not announced to {told.transport}, although somebody relays.",
            next_step="Workers whose settings name another transport for the stage do that: `penstock doctor`.",
        )
    return because(row, Reason.DUE, f"It is due; the relay announces it to {told.transport} within a second.")


def with_the_way(why: Why, told: Telling | None) -> Why:
    """Says that a broker which should tell of it does not."""
    if told is None or not told.bypassed:
        return why
    if told.away_seconds:
        cause = f"{told.transport} has been away for {span(told.away_seconds)}"
    else:
        cause = f"nothing came from {told.transport} for {span(told.silent_seconds)}"
    sentence = f"{why.sentence} Its stage is claimed from PostgreSQL meanwhile, because {cause}."
    return replace(why, sentence=sentence)
