"""Why a task is not running, and what would change that.

One row says where the task stands, ``waiting`` decides what stops its claim. Everything is read in one snapshot, at the
database's time.
"""

from dataclasses import replace
from typing import Any

from penstock.brokers.announcing import Telling, Unclaimed, bypassed, telling, untold, waits_for_worker
from penstock.errors import TaskNotFound
from penstock.insight.waiting import Reason, Waiting, reason_of
from penstock.insight.why_position import Position, Why, because, finished, leased, stage_of, stopped
from penstock.insight.worker_views import processors_by_state
from penstock.observe.wording import rate, span
from penstock.storage import reads

__all__ = ["Reason", "Why", "explain"]

Connection = Any

_COUNTED_AHEAD = 1000
# A worker that is awake looks at least every second; beyond this something keeps it from looking.
_LATE_SECONDS = 10.0


async def explain(connection: Connection, task_id: int) -> Why:
    """Finished, running, or the first that stops its claim."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        row = await reads.position(connection, task_id)
        if row is None:
            raise TaskNotFound(task_id)
        if not row["queued"]:
            return finished(row)
        if row["worker"] is not None:
            return leased(row)
        servers = await reads.servers_of_stage(connection, row["stage"])
        live = [one for one in servers if one["live"]]
        in_stage = in_lane = 0
        if row["stage_limit"] is not None:
            in_stage = await reads.leased_of_stage(connection, row["stage"])
        if row["lane_limit"] is not None:
            in_lane = await reads.leased_of_lane(connection, row["pipeline"], row["lane"])
        reason = reason_of(_waiting(row, served=bool(live), in_stage=in_stage, in_lane=in_lane))
        if reason is not None:
            running = in_lane if reason is Reason.LANE_LIMIT else in_stage
            return stopped(row, reason, running=running, last_server=servers[0] if servers else None)
        told = await telling(connection, row, live)
        if (unheard := untold(row, told)) is not None:
            return _of_broker(row, unheard)
        why = await _in_line(connection, row, live, told)
        return replace(why, sentence=why.sentence + bypassed(told))


def _waiting(row: Position, *, served: bool, in_stage: int, in_lane: int) -> Waiting:
    """Whether a processor is free does not matter before it is next."""
    paused = row["lane_paused_at"] is not None
    throttled = row["cause"] == "throttled" and row["blocked_until"] is not None
    return Waiting(
        cancelled=row["lane_cancelled_at"] is not None,
        stage_paused=None if row["stage_paused_at"] is None else "paused",
        job_paused=paused and row["lane_job"] is not None,
        lane_paused=paused,
        due_seconds=(row["run_at"] - row["read_at"]).total_seconds(),
        # A wait that its last attempt did not ask for comes from the enqueue.
        cause=row["cause"] if row["next_run_at"] == row["run_at"] else None,
        one_task=True,
        served=served,
        running=in_stage,
        max_running=row["stage_limit"],
        lane_full=row["lane_limit"] is not None and in_lane >= row["lane_limit"],
        limited_by=row["limit_key"] if throttled and row["blocked_until"] > row["read_at"] else None,
    )


async def _in_line(connection: Connection, row: Position, live: list[dict[str, Any]], told: Telling | None) -> Why:
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
    processors = processors_by_state(live, stage_of(row))
    if reason_of(Waiting(processors=processors)) is Reason.BUSY:
        every = sum(processors.values())
        return because(
            row,
            Reason.BUSY,
            f"It is next, and all {every:,} processors of stage {stage_of(row)} are busy.",
            next_step="It starts when one is free; more workers or a larger pool take it sooner.",
        )
    if alone := _alone(live):
        name, task = alone
        return because(
            row,
            Reason.BUSY,
            f"It is next, but worker {name} is running task {task} alone, because task {task} may crash its process.",
            next_step=f"It starts when task {task} ends, or at once on another worker.",
        )
    if told is not None and not told.bypassed:
        return _of_broker(row, waits_for_worker(row, told))
    waited = (row["read_at"] - row["run_at"]).total_seconds()
    if waited > _LATE_SECONDS:
        names = ", ".join(server["name"] for server in live)
        return because(
            row,
            Reason.OVERLOOKED,
            f"It is due for {span(waited)} and is next, but no worker takes it, although {names} lives and has room.",
            next_step="The paced profile looks once a minute; otherwise read the worker's log and restart it.",
        )
    return because(row, Reason.DUE, "It is due; a worker should take it within a second.")


def _of_broker(row: Position, found: Unclaimed) -> Why:
    return because(row, Reason(found.reason), found.sentence, next_step=found.next_step)


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


def _alone(live: list[dict[str, Any]]) -> tuple[str, int] | None:
    """A live worker and the task it runs alone, where all of them do that: nobody could start anything else."""
    found = [(server["name"], server["status"].get("alone")) for server in live]
    return found[0] if found and all(task for _, task in found) else None
