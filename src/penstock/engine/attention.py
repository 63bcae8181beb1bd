"""What a person should know now, and the one next step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from penstock.engine.pace_cause import paused
from penstock.engine.stage_views import StageView
from penstock.engine.wording import rate, span, stage_label

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


def attention_of(views: Sequence[StageView], any_worker: bool, loads: Sequence[Mapping[str, Any]]) -> list[Attention]:
    found: list[Attention] = []
    if not any_worker:
        found.append(
            Attention(
                about="workers",
                sentence="No worker is running.",
                next_step="`penstock worker --app module:name`, or `penstock up`",
            )
        )
    for view, load in zip(views, loads, strict=True):
        found += _of_stage(view, held=load["held"], any_worker=any_worker)
    return found


def of_brokers(views: Sequence[StageView]) -> list[Attention]:
    """Once per broker, however many stages it leaves without messages. Where it is, is for the doctor to say."""
    told = {one.told_by.name: one.told_by for one in views if one.told_by.away_seconds}
    return [
        Attention(
            about="broker",
            sentence=f"{name} refuses its workers."
            if one.refused
            else f"No worker has reached {name} for {span(one.away_seconds)}.",
            next_step="`penstock doctor`",
        )
        for name, one in told.items()
    ]


def of_skew(stages: Sequence[Mapping[str, Any]]) -> list[Attention]:
    return [
        Attention(
            about="waits",
            sentence=skew_sentence(one),
            next_step=f"`penstock tasks why {one['task_id']}`",
            pipeline=one["pipeline"],
            stage=one["name"],
        )
        for one in stages
    ]


def skew_sentence(stage: Mapping[str, Any]) -> str:
    """For the doctor, too."""
    label, verb = stage_label(stage["pipeline"], stage["name"]), "has" if stage["n"] == 1 else "have"
    waits = span((stage["read_at"] - stage["since"]).total_seconds())
    return (
        f"{_many(stage['n'], 'task')} of {label} {verb} been waiting for a worker of another release,"
        f" the oldest for {waits}: {stage['problem']}."
    )


def of_messages(unread: Mapping[str, int]) -> list[Attention]:
    told = " and ".join(f"{count:,} of {name}" for name, count in unread.items())
    sentence = f"Nobody could read some messages: {told}."
    return (
        [Attention(about="messages", sentence=sentence, next_step="`penstock dead-letters messages list`")]
        if unread
        else []
    )


def _of_stage(view: StageView, *, held: int, any_worker: bool) -> list[Attention]:
    found = []
    of_stage = partial(Attention, pipeline=view.pipeline, stage=view.stage)
    if view.paused_at is not None:
        found.append(
            of_stage(
                about="paused",
                sentence=f"Stage {view.label} is {paused(view.paused_by, view.pause_reason)}.",
                next_step=f"`penstock stages resume {view.label}`",
            )
        )
    if view.waiting and any_worker and not view.workers:
        stand = "waits" if view.waiting == 1 else "wait"
        found.append(
            of_stage(
                about="unserved",
                sentence=f"{_many(view.waiting, 'task')} {stand} in stage {view.label}, and no live worker serves it.",
                next_step="`penstock worker --app module:name`",
            )
        )
    if held:
        found.append(
            of_stage(
                about="lanes",
                sentence=f"{_many(held, 'lane')} of {view.label} with tasks {'is' if held == 1 else 'are'} paused.",
                next_step="`penstock lanes list`",
            )
        )
    if view.failed_last_hour:
        found.append(
            of_stage(
                about="failures",
                sentence=f"{_many(view.failed_last_hour, 'task')} of {view.label} failed in the last hour.",
                next_step=f"`penstock dead-letters list --pipeline {view.pipeline}`",
            )
        )
    if view.workers and (view.oldest_wait_seconds or 0) > _OLD_WAIT_SECONDS:
        pace = f"; {rate(view.ended_per_second)} leave it" if view.ended_per_second else ""
        cause = f", limited to {view.max_running:,} at a time" if view.max_running else ""
        wait = span(view.oldest_wait_seconds or 0)
        found.append(
            of_stage(
                about="waits",
                sentence=f"The oldest task of {view.label} is due for {wait}{pace}{cause}.",
                next_step="More workers or a larger pool shorten the wait.",
            )
        )
    return found


def _many(number: int, thing: str) -> str:
    return f"1 {thing}" if number == 1 else f"{number:,} {thing}s"
