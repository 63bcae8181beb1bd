"""What a runner tells about itself: its stages in numbers, who is busy with what, and the last health report.

It goes into every heartbeat, so it is bounded; those in trouble and those that have run longest come first.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from penstock.workers.discovery import Discovery
from penstock.workers.health import Report
from penstock.workers.inbox import Inbox
from penstock.workers.load import memory_bytes
from penstock.workers.measuring import Pace
from penstock.workers.pool import Pool, ProcessorState

_MOST_PER_STAGE = 20
_MOST = 100
_MOST_PROBLEMS = 10
# A key that held a task up longer ago says nothing about the pace of now.
_HELD_UP_SECONDS = 60.0


def stages_shown(
    pools: Mapping[int, Pool], inboxes: Mapping[int, Inbox], paces: Mapping[int, Pace], discovery: Discovery
) -> dict[str, Any]:
    """All stages of a runner, by their labels, and who is busy in them."""
    labels = {pool.stage.label: stage for stage, pool in pools.items()}
    return {
        "stages": {
            label: _stage_shown(pools[stage], inboxes[stage], paces[stage], discovery)
            for label, stage in labels.items()
        },
        "memory_bytes": memory_bytes(),
        "polled_seconds_ago": time.monotonic() - discovery.polled_at,
        "at_work": at_work(
            {label: pools[stage] for label, stage in labels.items()}, time.time() + discovery.clock_behind_seconds
        ),
    }


def _stage_shown(pool: Pool, inbox: Inbox, pace: Pace, discovery: Discovery) -> dict[str, Any]:
    """One stage in numbers; the claim comes with the reason for its size."""
    stage_id = pool.stage.id
    claim = discovery.decisions.get(stage_id)
    return {
        "processors": pool.states(),
        "inbox": len(inbox),
        "ewma_ms": pace.ewma_ms,
        "runs": pace.runs,
        "held_up_by": _held_up_by(pool),
        "claim": None if claim is None else {"size": claim.value, "reason": claim.reason},
        **discovery.adaptation.shown(stage_id),
        **discovery.told_by(stage_id),
    }


def _held_up_by(pool: Pool) -> str | None:
    held_up = pool.running.held_up
    return held_up[0] if held_up is not None and time.monotonic() - held_up[1] < _HELD_UP_SECONDS else None


def at_work(pools: Mapping[str, Pool], now_seconds: float) -> list[dict[str, Any]]:
    """Processors that are not idle, by the label of their stage. ``since_seconds`` is in the time of ``now_seconds``.

    May be called from another thread: a processor that ends meanwhile is left out.
    """
    shown: list[dict[str, Any]] = []
    now_ns = time.monotonic_ns()
    for label, pool in pools.items():
        of_stage = []
        for processor in pool.processors:
            claimed, state, started = processor.claimed, processor.state, processor.started
            if claimed is not None and state is not ProcessorState.IDLE:
                since = now_seconds - (now_ns - started) / 1e9
                of_stage.append(
                    {
                        "name": processor.name,
                        "stage": label,
                        "state": state.value,
                        "task": claimed.task_id,
                        "since_seconds": round(since, 3),
                    }
                )
        shown += sorted(of_stage, key=_urgency)[:_MOST_PER_STAGE]
    return sorted(shown, key=_urgency)[:_MOST]


def _urgency(one: Mapping[str, Any]) -> tuple[bool, float]:
    return one["state"] != ProcessorState.ERROR.value, one["since_seconds"]


def report_shown(report: Report | None) -> dict[str, Any] | None:
    return None if report is None else {**asdict(report), "problems": list(report.problems[:_MOST_PROBLEMS])}
