"""Jobs and envelopes: what users implement who think in dispatchers and handlers."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from penstock import Context, EngineDispatcher, JobEnvelope, JobHandler, Penstock, Snooze, State, TransientError
from penstock.brokers.envelope import job_id_of
from penstock.core.run import waited
from penstock.errors import (
    InvalidArguments,
    InvalidDefinition,
    InvalidSetting,
    NotStorable,
    PayloadTooLarge,
    UnknownTask,
    UsageError,
)
from penstock.storage import relay
from penstock.testing import RecordingDispatcher

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Remembering(JobHandler):
    type: ClassVar[str] = "resize"
    version: ClassVar[int] = 2
    max_attempts: ClassVar[int | None] = 4
    pool: ClassVar[int | None] = 3
    max_running: ClassVar[int | None] = 2
    timeout: ClassVar[float | None] = 30.0

    def __init__(self) -> None:
        self.seen: list[JobEnvelope] = []
        self.fails = 0

    async def handle(self, envelope: JobEnvelope, ctx: Context) -> Any:
        self.seen.append(envelope)
        if self.fails:
            self.fails -= 1
            raise TransientError("not yet")
        return {"width": envelope.body["width"], "task": ctx.task_id}


@pytest.fixture
def handler(app: Penstock) -> Remembering:
    made = Remembering()
    app.add_handler(made)
    return made


async def test_a_dispatched_job_reaches_its_handler_in_an_envelope(
    app: Penstock, handler: Remembering, working: Callable[..., Any]
) -> None:
    task = await EngineDispatcher(app).dispatch("resize", {"width": 20, "ctx": "mine", "version": 2})
    job_id, task_id = task.job_id, task.id
    async with working():
        assert await task.result(60) == {"width": 20, "task": task_id}
    async with app.connection() as connection:
        assert str(job_id) == job_id_of(await relay.installation(connection), task_id)
    (envelope,) = handler.seen
    assert envelope.body == {"width": 20, "ctx": "mine", "version": 2, "task_id": task_id}
    header = envelope.header
    assert (header.job_id, header.type, header.version) == (job_id, "resize", 2)
    assert (header.attempt, header.max_attempts) == (1, 4) and header.created_at.tzinfo is not None
    assert (envelope.tracing.trace_id, envelope.tracing.span_id) == (None, None)


async def test_the_policy_of_the_class_is_that_of_the_stage(app: Penstock, handler: Remembering) -> None:
    stage = app.pipelines["resize"].first
    assert (stage.pool, stage.timeout_seconds, stage.max_attempts, stage.max_running) == (3, 30.0, 4, 2)


async def test_errors_are_tried_again_and_the_trace_goes_along(
    app: Penstock, handler: Remembering, working: Callable[..., Any]
) -> None:
    handler.fails = 1
    task = await app.enqueue("resize", {"width": 1}, trace=f"00-{TRACE}-{SPAN}-01")
    async with working():
        await task.result(60)
    assert [one.header.attempt for one in handler.seen] == [1, 2]
    assert {one.header.job_id for one in handler.seen} == {handler.seen[0].header.job_id}
    assert {one.header.version for one in handler.seen} == {1}, "a body that says none has version 1"
    assert (handler.seen[1].tracing.trace_id, handler.seen[1].tracing.span_id) == (TRACE, SPAN)


async def test_a_body_for_a_newer_worker_waits_and_burns_no_attempt(
    app: Penstock, handler: Remembering, working: Callable[..., Any]
) -> None:
    task = await app.enqueue("resize", {"width": 1, "version": 3})

    async def put_off() -> bool:
        async with app.connection() as connection:
            cause = await connection.fetchval("select cause from penstock.attempts where task_id = $1", task.id)
            return cause is not None

    async with working(), asyncio.timeout(60):
        while not await put_off():
            await asyncio.sleep(0.02)
        details = await task.details()
    assert handler.seen == [] and details["state"] == "PENDING"
    async with app.connection() as connection:
        row = await connection.fetchrow(
            """select q.attempt, q.run_at >= a.next_run_at and a.next_run_at - a.at > interval '2 seconds' as later,
                      a.burned, a.cause
               from penstock.queue q join penstock.attempts a using (task_id) where q.task_id = $1 order by a.at""",
            task.id,
        )
    assert row["attempt"] == 0 and row["later"] and not row["burned"] and row["cause"] == "snooze"
    Remembering.version = 3
    try:
        async with app.connection() as connection:
            await connection.execute("update penstock.queue set run_at = now()")
        async with working():
            assert (await task.result(60))["width"] == 1
    finally:
        Remembering.version = 2


def test_the_wait_grows_with_the_age() -> None:
    assert [waited(age) for age in (0, 8, 100, 10_000)] == [5.0, 5.0, 50.0, 900.0]
    assert isinstance(Snooze(waited(0)).delay, float)


async def test_a_version_that_is_none_is_a_dead_letter_at_once(
    app: Penstock, handler: Remembering, working: Callable[..., Any]
) -> None:
    task = await app.enqueue("resize", {"version": "two"})
    async with working():
        state, _, error = await task.wait(60)
    assert state is State.ERROR and error is not None
    assert "'two', not a whole number" in error["message"] and handler.seen == []


async def test_what_cannot_become_a_job_is_refused_by_both_dispatchers(app: Penstock, handler: Remembering) -> None:
    for dispatcher in (EngineDispatcher(app), RecordingDispatcher()):
        for body, error in (
            ({"task_id": 3}, InvalidArguments),
            ({"version": 0}, InvalidArguments),
            ({"version": True}, InvalidArguments),
            ({"text": "x" * 70_000}, PayloadTooLarge),
            ({"number": float("nan")}, NotStorable),
        ):
            with pytest.raises(error):
                await dispatcher.dispatch("resize", body)
        with pytest.raises(InvalidSetting):
            await dispatcher.dispatch("resize", {}, delay=-1)
        with pytest.raises(InvalidSetting):
            await dispatcher.dispatch("resize", {}, priority="soon")
    with pytest.raises(UnknownTask):
        await EngineDispatcher(app).dispatch("resise", {})


async def test_the_same_key_gives_the_same_job(app: Penstock, handler: Remembering) -> None:
    for dispatcher in (EngineDispatcher(app), RecordingDispatcher()):
        first = await dispatcher.dispatch("resize", {"width": 1}, idempotency_key="a")
        again = await dispatcher.dispatch("resize", {"width": 1}, idempotency_key="a", priority="high")
        other = await dispatcher.dispatch("resize", {"width": 1}, idempotency_key="b")
        assert first.job_id == again.job_id != other.job_id
        assert first.id == again.id != other.id
        assert (first.created, again.created, other.created) == (True, False, True)


async def test_the_recording_dispatcher_keeps_what_was_dispatched() -> None:
    dispatcher = RecordingDispatcher()
    body = {"width": 1}
    job_id = (await dispatcher.dispatch("resize", body, priority="high", delay=5)).job_id
    body["width"] = 2
    (one,) = dispatcher.of("resize")
    assert (one.job_id, one.body, one.priority, one.delay) == (job_id, {"width": 1}, -10, 5)
    assert dispatcher.of("other") == []


async def test_a_recorded_job_says_that_it_never_runs() -> None:
    task = await RecordingDispatcher().dispatch("resize", {})
    for asked in (task.result(1), task.state(), task.details(), task.cancel(), task.reprocess()):
        with pytest.raises(UsageError, match=f"{task.job_id} was recorded and not stored"):
            await asked


def test_a_handler_without_a_type_or_with_a_wrong_version_is_told(app: Penstock) -> None:
    class Nameless(JobHandler):
        async def handle(self, envelope: JobEnvelope, ctx: Context) -> None: ...

    class Old(Nameless):
        type = "old"
        version = 0

    with pytest.raises(InvalidDefinition, match=r"Nameless.*`type`"):
        app.add_handler(Nameless())
    with pytest.raises(InvalidDefinition, match="version = 0"):
        app.add_handler(Old())
    assert app.pipelines == {}
