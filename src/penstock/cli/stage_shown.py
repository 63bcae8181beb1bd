"""One stage on a screen: `penstock stages show`."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from penstock.cli.stages import as_row, run_time, share
from penstock.insight.stage_views import StageView
from penstock.insight.wording import span
from penstock.insight.worker_views import ProcessorView, WorkerView
from penstock.terminal.output import duration, titled, write_table
from penstock.terminal.readable import clean, fields, when

AtWork = Sequence[tuple[WorkerView, ProcessorView]]


def as_data(view: StageView, at_work: AtWork) -> dict[str, Any]:
    busy = [{**asdict(one), "worker": worker.name} for worker, one in at_work]
    return {**as_row(view), "at_work": busy}


def described(view: StageView, at_work: AtWork, now: datetime) -> str:
    states = ", ".join(f"{count:,} {state}" for state, count in view.processors.items()) or "none"
    pairs = {
        "stage": clean(view.label),
        **({"application": clean(view.application)} if view.application else {}),
        "state": str(as_row(view)["note"]),
        "tasks": f"{view.waiting:,} waiting (oldest {duration(view.oldest_wait_seconds)}), {view.running:,} running",
        "transport": str(as_row(view)["told_by"]),
        **({"queues": ", ".join(view.told_by.queues)} if view.told_by.queues else {}),
        "processors": f"{states} in {view.workers:,} workers",
        "run time": f"{run_time(view.mean_run_seconds)} in the last hour, "
        f"{run_time(view.mean_run_seconds_last_minute)} in the last minute",
        "last hour": f"{view.runs_last_hour:,} runs, {share(view.success_rate)} went well, "
        f"{share(view.failure_rate)} failed, {view.retries_last_hour:,} retries",
        "policy": ", ".join(_policy(view)),
    }
    text = fields(pairs)
    if at_work:
        text += "\n\n" + _table(at_work, now)
    return text


def _policy(view: StageView) -> list[str]:
    """Only what the code says; the rest is what the worker's settings say."""
    policy: Mapping[str, Any] = view.policy
    said = [
        f"{name} {policy[name]}"
        for name in ("execution", "pool", "order", "batch", "throttle")
        if policy.get(name) is not None
    ]
    if policy.get("timeout_seconds") is not None:
        said.append(f"timeout {span(policy['timeout_seconds'])}")
    said.append(f"{view.max_attempts:,} attempts")
    if view.max_running is not None:
        said.append(f"at most {view.max_running:,} at a time")
    if policy.get("version") is not None:
        said.append(f"version {clean(str(policy['version']))}")
    return said


def _table(at_work: AtWork, now: datetime) -> str:
    rows = [
        {
            "processor": clean(one.name),
            "state": one.state,
            "task": str(one.task_id),
            "since": when(one.since, now),
            "worker": clean(worker.name),
        }
        for worker, one in at_work
    ]
    text = io.StringIO()
    write_table(text, rows, [titled(name) for name in ("processor", "state", "task", "since", "worker")])
    return text.getvalue().rstrip("\n")
