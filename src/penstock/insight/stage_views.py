"""A stage as people see it, and what of all stages a person should know now, with the one next step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from penstock.brokers.stage_transports import StageTransport
from penstock.insight.waiting import paused
from penstock.observe.wording import counted, rate, span, stage_label


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """``eta_seconds``: when the backlog would be gone at the present rate; None where nothing moves.

    ``mean_run_seconds`` is of the last hour. The rates are shares of what left the stage in the last hour, without what
    was cancelled: successes are DONE or moved on, failures ERROR; not found and skipped are neither. None where nothing
    was measured. ``retries_last_hour``: runs that burned an attempt and were tried again.
    ``told_by``: how its workers learn what to claim, by what they say themselves.
    ``in_broker``: of those that wait, how many a broker was told of.
    ``eta_cause``: what sets the pace, or why nothing moves; None where nothing waits or nobody knows.
    ``held_up_by``: the key of the limiter that sent a task of it back in the last minute.
    ``application``: the one whose workers run it; None for Penstock's own, and until it is registered again.
    The 95th percentiles are of the last hour.
    """

    pipeline: str
    stage: str
    application: str | None
    waiting: int
    running: int
    max_running: int | None
    workers: int
    processors: Mapping[str, int]
    oldest_wait_seconds: float | None
    arrived_per_second: float
    ended_per_second: float
    eta_seconds: float | None
    eta_cause: str | None
    held_up_by: str | None
    failed_last_hour: int
    mean_run_seconds: float | None
    mean_run_seconds_last_minute: float | None
    run_p95_seconds: float | None
    wait_p95_seconds: float | None
    success_rate: float | None
    failure_rate: float | None
    runs_last_hour: int
    retries_last_hour: int
    max_attempts: int
    policy: Mapping[str, Any]
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    told_by: StageTransport
    in_broker: int

    @property
    def transport(self) -> str | None:
        return self.told_by.name

    @property
    def label(self) -> str:
        return stage_label(self.pipeline, self.stage)


_OLD_WAIT_SECONDS = 60.0
# Longer than a rolling deploy usually takes.
OLD_SKEW_SECONDS = 600.0
About = Literal["workers", "paused", "unserved", "lanes", "failures", "waits", "broker", "messages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Something a person should know, and the command that shows or ends it. ``about`` is what pages link by."""

    about: About
    sentence: str
    next_step: str
    pipeline: str | None = None
    stage: str | None = None


def attention_of(
    views: Sequence[StageView],
    loads: Sequence[Mapping[str, Any]],
    *,
    any_worker: bool,
    skewed: Sequence[Mapping[str, Any]],
    unread: Mapping[str, int],
) -> Iterator[Attention]:
    """``skewed``: stages whose tasks wait for another release; ``unread``: dead messages by broker."""
    if not any_worker:
        step = "`penstock worker --app module:name`, or `penstock up`"
        yield Attention(about="workers", sentence="No worker is running.", next_step=step)
    for view, load in zip(views, loads, strict=True):
        for about, sentence, step in _of_stage(view, held=load["held"], any_worker=any_worker):
            yield Attention(about=about, sentence=sentence, next_step=step, pipeline=view.pipeline, stage=view.stage)
    for one in skewed:
        step, where = f"`penstock tasks why {one['task_id']}`", {"pipeline": one["pipeline"], "stage": one["name"]}
        yield Attention(about="waits", sentence=skew_sentence(one), next_step=step, **where)
    # Once per broker, however many stages it leaves without messages. Where it is, is for the doctor to say.
    for name, told in {one.told_by.name: one.told_by for one in views if one.told_by.away_seconds}.items():
        away = f"No worker has reached {name} for {span(told.away_seconds)}."
        sentence = f"{name} refuses its workers." if told.refused else away
        yield Attention(about="broker", sentence=sentence, next_step="`penstock doctor`")
    if unread:
        sentence = f"Nobody could read some messages: {' and '.join(f'{n:,} of {name}' for name, n in unread.items())}."
        yield Attention(about="messages", sentence=sentence, next_step="`penstock dead-letters messages list`")


def skew_sentence(stage: Mapping[str, Any]) -> str:
    """For the doctor, too."""
    label, verb = stage_label(stage["pipeline"], stage["name"]), "has" if stage["n"] == 1 else "have"
    waits = span((stage["read_at"] - stage["since"]).total_seconds())
    return (
        f"{counted(stage['n'], 'task')} of {label} {verb} been waiting for a worker of another release,"
        f" the oldest for {waits}: {stage['problem']}."
    )


def _of_stage(view: StageView, *, held: int, any_worker: bool) -> Iterator[tuple[About, str, str]]:
    """(about, sentence, next step) each."""
    label = view.label
    if view.paused_at is not None:
        sentence = f"Stage {label} is {paused(view.paused_by, view.pause_reason)}."
        yield "paused", sentence, f"`penstock stages resume {label}`"
    if view.waiting and any_worker and not view.workers:
        stand = "waits" if view.waiting == 1 else "wait"
        sentence = f"{counted(view.waiting, 'task')} {stand} in stage {label}, and no live worker serves it."
        yield "unserved", sentence, "`penstock worker --app module:name`"
    if held:
        sentence = f"{counted(held, 'lane')} of {label} with tasks {'is' if held == 1 else 'are'} paused."
        yield "lanes", sentence, "`penstock lanes list`"
    if view.failed_last_hour:
        sentence = f"{counted(view.failed_last_hour, 'task')} of {label} failed in the last hour."
        yield "failures", sentence, f"`penstock dead-letters list --pipeline {view.pipeline}`"
    if view.paused_at is None and view.workers and (view.oldest_wait_seconds or 0) > _OLD_WAIT_SECONDS:
        pace = f"; it completes {rate(view.ended_per_second)}" if view.ended_per_second else ""
        cause = f", limited to {view.max_running:,} at a time" if view.max_running else ""
        sentence = f"The oldest task of {label} has been due for {span(view.oldest_wait_seconds or 0)}{pace}{cause}."
        yield "waits", sentence, "More workers or a larger pool shorten the wait."
