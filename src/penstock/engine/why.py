"""Why a task is not running, and what would change that.

One row says where the task stands; the questions are then asked in the order in which a claim would be stopped by
their answers, and the first that stops it is the reason. Everything is read in one snapshot, at the database's time.
"""

from typing import Any

from penstock.engine.why_broker import Telling, telling, untold, waits_for_worker, with_the_way
from penstock.engine.why_position import (
    Position,
    Reason,
    Why,
    because,
    blocked,
    finished,
    group_of,
    leased,
    not_yet,
    stage_of,
    stopped,
)
from penstock.engine.wording import ago, rate, span
from penstock.errors import TaskNotFound
from penstock.storage import reads

__all__ = ["Reason", "Why", "explain"]

Connection = Any

_COUNTED_AHEAD = 1000
# A worker that is awake looks at least every second; beyond this something keeps it from looking.
_LATE_SECONDS = 10.0


async def explain(connection: Connection, task_id: int) -> Why:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        row = await reads.position(connection, task_id)
        if row is None:
            raise TaskNotFound(task_id)
        settled = (
            finished(row)
            or leased(row)
            or stopped(row)
            or not_yet(row)
            or await _nobody(connection, row)
            or await _at_limit(connection, row)
            or blocked(row)
        )
        if settled is not None:
            return settled
        told = await telling(connection, row)
        return untold(row, told) or with_the_way(await _in_line(connection, row, told), told)


async def _nobody(connection: Connection, row: Position) -> Why | None:
    known = await reads.servers_of_stage(connection, row["stage"])
    if any(one["live"] for one in known):
        return None
    stage = stage_of(row)
    before = (
        f" The last one, {known[0]['name']}, was seen {ago(known[0]['heartbeat_at'], row['read_at'])}." if known else ""
    )
    return because(
        row,
        Reason.NO_WORKER,
        f"No live worker serves stage {stage}.{before}",
        next_step=f"Start one with the app that declares {row['pipeline']!r}: `penstock worker --app module:name`.",
    )


async def _at_limit(connection: Connection, row: Position) -> Why | None:
    """The exact fleet-wide limits, of the stage and then of the lane."""
    if (limit := row["stage_limit"]) is not None:
        running = await reads.leased_of_stage(connection, row["stage"])
        if running >= limit:
            stage = stage_of(row)
            return because(
                row,
                Reason.STAGE_LIMIT,
                f"Stage {stage} may run {limit:,} at a time in the whole fleet, and {running:,} of {limit:,} run.",
                next_step=f"It moves up when one ends; `penstock stages limit {stage} {limit * 2}` allows more.",
            )
    if (limit := row["lane_limit"]) is not None:
        running = await reads.leased_of_lane(connection, row["pipeline"], row["lane"])
        if running >= limit:
            lane = f"{row['pipeline']} {row['lane_key']}"
            return because(
                row,
                Reason.LANE_LIMIT,
                f"{group_of(row)} may run {limit:,} at a time in the whole fleet, and {running:,} of {limit:,} run.",
                next_step=f"It moves up when one ends; `penstock lanes limit {lane} {limit * 2}` allows more.",
            )
    return None


async def _in_line(connection: Connection, row: Position, told: Telling | None) -> Why:
    """Due, and somebody serves it: what is ahead, whether anybody is free."""
    ahead = await reads.ahead_in_lane(
        connection,
        stage=row["stage"],
        lane=row["lane"],
        run_at=row["run_at"],
        task_id=row["task_id"],
        at_most=_COUNTED_AHEAD,
    )
    first, turns = await reads.ahead_by_priority(
        connection, stage=row["stage"], priority=row["priority"], pipeline=row["pipeline"]
    )
    pace = (await reads.stage_rates(connection)).get(row["stage"], {}).get("ended_per_second", 0.0)
    if first or ahead:
        return because(
            row,
            Reason.BEHIND,
            _line(ahead, first, turns, pace),
            next_step="More workers, or a higher priority at enqueue, bring it forward.",
        )
    servers = await reads.servers_of_stage(connection, row["stage"])
    busy, all_processors = _processors(servers, stage_of(row))
    if all_processors and busy >= all_processors:
        return because(
            row,
            Reason.BUSY,
            f"It is next, and all {all_processors:,} processors of stage {stage_of(row)} are busy.",
            next_step="It starts when one is free; more workers or a larger pool take it sooner.",
        )
    if alone := _alone(servers):
        name, task = alone
        return because(
            row,
            Reason.BUSY,
            f"It is next, but worker {name} is running task {task} alone, because task {task} may crash its process.",
            next_step=f"It starts when task {task} ends, or at once on another worker.",
        )
    if told is not None and not told.bypassed:
        return waits_for_worker(row, told)
    waited = (row["read_at"] - row["run_at"]).total_seconds()
    if waited > _LATE_SECONDS:
        names = ", ".join(server["name"] for server in servers if server["live"])
        return because(
            row,
            Reason.OVERLOOKED,
            f"It is due for {span(waited)} and is next, but no worker takes it, although {names} lives and has room.",
            next_step="The paced profile looks once a minute; otherwise read the worker's log and restart it.",
        )
    return because(row, Reason.DUE, "It is due; a worker should take it within a second.")


def _line(ahead: int, first: int, turns: int, pace: float) -> str:
    """Written ≈: the counters hold tasks that are not due yet, and lanes take turns."""
    in_lane = f"{ahead:,} or more" if ahead >= _COUNTED_AHEAD else f"{ahead:,}"
    parts = [f"{in_lane} in its own lane"] if ahead else []
    if first:
        parts.append(f"≈ {first:,} in lanes of higher priority")
    sentence = f"It is due, behind {' and '.join(parts)}"
    if turns > 1:
        sentence += f"; {turns - 1:,} more lanes take turns with its own"
    if pace > 0 and ahead < _COUNTED_AHEAD:
        sentence += f". At {rate(pace)} that is ≈ {span((ahead * max(turns, 1) + first) / pace)}"
    return sentence + "."


def _alone(servers: list[dict[str, Any]]) -> tuple[str, int] | None:
    """A live worker and the task it runs alone, where all of them do that: nobody could start anything else."""
    found = [(server["name"], server["status"].get("alone")) for server in servers if server["live"]]
    return found[0] if found and all(task for _, task in found) else None


def _processors(servers: list[dict[str, Any]], stage: str) -> tuple[int, int]:
    """(busy, all) over live workers, as of their last heartbeat."""
    busy = every = 0
    for server in servers:
        states = server["status"].get("stages", {}).get(stage, {}).get("processors", {}) if server["live"] else {}
        every += sum(states.values())
        busy += every and states.get("busy", 0)
    return busy, every
