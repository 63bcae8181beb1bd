"""`penstock stages`"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer

from penstock.errors import InvalidSetting
from penstock.insight.overview import of_stage, overview
from penstock.insight.stage_views import StageView
from penstock.insight.worker_views import ProcessorView, WorkerView
from penstock.observe.wording import rate, span
from penstock.terminal.command import command
from penstock.terminal.output import Column, duration, table_text, titled
from penstock.terminal.pages import ReasonOption, actor
from penstock.terminal.readable import clean, fields, when
from penstock.terminal.session import Session

StageName = Annotated[str, typer.Argument(metavar="STAGE", help="pipeline, or pipeline/stage for one of several.")]
LimitArgument = Annotated[str, typer.Argument(metavar="N|none", help="At most so many at a time, in the whole fleet.")]

OldName = Annotated[str, typer.Argument(metavar="OLD", help="The name they are registered under.")]
NewName = Annotated[str, typer.Argument(metavar="NEW", help="The name in `Penstock(name)` from now on.")]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="PIPELINE", help="Only this pipeline; may be given several times."),
]

EMPTY = "No stages yet. A worker registers them when it starts: `penstock worker --app module:name`."


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(session: Session) -> None:
        """Every stage with its load, rates and limits."""
        async with session.connection() as connection:
            views = (await overview(connection, session.settings)).stages
        session.out.table([as_row(view) for view in views], LISTED, empty=EMPTY)

    @command(app)
    async def show(session: Session, stage: StageName) -> None:
        """Its policy, what it measured, and its processors that are busy or in error."""
        async with session.connection() as connection:
            seen = await overview(connection, session.settings)
        view, at_work = of_stage(seen, stage)
        session.out.show(as_data(view, at_work), lambda: described(view, at_work, seen.read_at))

    @command(app)
    async def pause(session: Session, stage: StageName, reason: ReasonOption = None) -> None:
        """Nothing more of it is started; what runs goes on to its end."""
        await (await session.app()).control.stages.pause(stage, by=actor(), reason=reason)
        session.out.show(
            {"stage": stage, "paused": True}, f"Stage {stage} is paused. `penstock stages resume {stage}` goes on."
        )

    @command(app)
    async def resume(session: Session, stage: StageName) -> None:
        """Go on after a pause."""
        await (await session.app()).control.stages.resume(stage, by=actor())
        session.out.show({"stage": stage, "paused": False}, f"Stage {stage} goes on.")

    @command(app)
    async def limit(session: Session, stage: StageName, limit: LimitArgument) -> None:
        """An exact fleet-wide limit. The code's own limit comes back when the application registers again."""
        most = whole_or_none(limit)
        await (await session.app()).control.stages.limit(stage, most, by=actor())
        text = f"Stage {stage} has no limit." if most is None else f"Stage {stage} runs at most {most:,} at a time."
        session.out.show({"stage": stage, "max_running": most}, text)

    @command(app)
    async def transfer(session: Session, application: OldName, to: NewName, only: OnlyOption = None) -> None:
        """Transfer the stages and schedules of an application that was renamed.

        A stage belongs to the application that registered it first; another one with a task of that name is refused.
        Workers of the old name go on until they stop. With --only, schedules stay where they are.
        """
        moved = await (await session.app()).control.stages.transfer(application, to, only=only or (), by=actor())
        text = f"Transferred from {application} to {to}: {', '.join(moved)}."
        session.out.show({"application": application, "to": to, "pipelines": moved}, clean(text))


def whole_or_none(text: str) -> int | None:
    if text.lower() == "none":
        return None
    if not text.isdigit() or not 1 <= int(text) <= 2**31 - 1:
        raise InvalidSetting("limit", text, "use a whole number from 1, or none")
    return int(text)


def _per_second(value: float) -> str:
    return "–" if value <= 0 else rate(value)


def _shown_limit(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


COLUMNS = (
    Column(key="label", title="stage"),
    Column(key="waiting", title="waiting"),
    Column(key="running", title="running"),
    Column(key="max_running", title="limit", right=True, show=_shown_limit),
    Column(key="workers", title="workers"),
    Column(key="oldest_wait_seconds", title="oldest wait", right=True, show=duration),
    Column(key="arrived_per_second", title="in", right=True, show=_per_second),
    Column(key="ended_per_second", title="out", right=True, show=_per_second),
    Column(
        key="eta_seconds", title="ETA", right=True, show=lambda value: "–" if value is None else f"≈{duration(value)}"
    ),
    Column(key="failed_last_hour", title="failed/h"),
    Column(key="note", title="state"),
)


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.3g} %"


def run_time(seconds: float | None) -> str:
    return "–" if seconds is None else span(seconds) if seconds >= 1 else f"{1000 * seconds:.0f} ms"


TRANSPORT = Column(key="told_by", title="transport")

# What `stages list` shows besides the columns of the status screen, which has less room.
LISTED = (
    *COLUMNS[:-1],
    Column(key="mean_run_seconds", title="run", right=True, show=run_time),
    Column(key="success_rate", title="success", right=True, show=share),
    Column(key="failure_rate", title="failure", right=True, show=share),
    Column(key="retries_last_hour", title="retries/h"),
    TRANSPORT,
    COLUMNS[-1],
)


def as_row(view: StageView) -> dict[str, Any]:
    note = "open"
    if view.paused_at is not None:
        note = f"paused by {view.paused_by or '–'}" + (f": {view.pause_reason}" if view.pause_reason else "")
    elif not view.workers:
        note = "no worker"
    return {
        **asdict(view),
        "label": view.label,
        "note": clean(note),
        "transport": view.transport,
        "told_by": _told_by(view),
        "broker": asdict(view.told_by),
    }


def _told_by(view: StageView) -> str:
    """The transport and what is odd about it. That an idle stage hears nothing is not odd."""
    told = view.told_by
    said = told.name or "–"
    if told.refused:
        said += " (bypassed: it refuses)" if told.bypassed else " (it refuses)"
    elif told.away_seconds:
        said += f" ({'bypassed: ' if told.bypassed else ''}away for {span(told.away_seconds)})"
    elif told.bypassed and view.oldest_wait_seconds is not None:
        said += f" (bypassed: silent for {span(told.silent_seconds)})"
    elif told.configured_here and told.name is not None:
        said += " (configured here)"
    return f"{said}, {view.in_broker:,} sent" if view.in_broker else said


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
    return table_text(rows, [titled(name) for name in ("processor", "state", "task", "since", "worker")])
