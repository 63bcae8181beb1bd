"""How a run may end, and what is stored of it."""

import asyncio
import time
from datetime import timedelta

import pytest

from penstock import (
    Cancel,
    Context,
    Done,
    NotFound,
    PermanentError,
    RetryPolicy,
    Skip,
    Snooze,
    State,
    TaskFailed,
    ThrottledError,
)
from penstock.errors import IllegalMove, TaskNotFound, WaitTimeout

QUICK = RetryPolicy(base_seconds=0.01)


@pytest.mark.parametrize(
    ("ending", "state", "message"),
    [
        (Done({"a": 1}), State.DONE, None),
        (NotFound("no such page"), State.NOT_FOUND, "no such page"),
        (Skip("unchanged"), State.SKIPPED, "unchanged"),
        (Cancel("not wanted"), State.CANCELLED, "not wanted"),
    ],
)
async def test_a_handler_ends_by_returning(app, working, ending, state, message):
    @app.task()
    async def end():
        return ending

    async with working():
        got, result, error = await (await end.enqueue()).wait(60)
    assert got is state
    assert result == (ending.value if state is State.DONE else None)
    assert (error or {}).get("message") == message


async def test_an_error_is_retried_and_every_try_is_recorded(app, working):
    seen = []

    @app.task(max_attempts=3, retry=QUICK)
    async def flaky(ctx: Context) -> str:
        seen.append((ctx.attempt, ctx.lease, ctx.idempotency_key))
        if ctx.attempt < 3:
            raise ConnectionError(f"try {ctx.attempt}")
        return "done"

    async with working():
        task = await flaky.enqueue()
        assert await task.result(60) == "done"
        details = await task.details()
    assert [attempt for attempt, _, _ in seen] == [1, 2, 3]
    assert len({lease for _, lease, _ in seen}) == 3 and sorted(seen, key=lambda one: one[1]) == seen
    assert len({key for _, _, key in seen}) == 1
    assert details["attempts"] == 3
    assert [(one["cause"], one["burned"], one["error"]["message"]) for one in details["history"]] == [
        ("retry", True, "try 1"),
        ("retry", True, "try 2"),
    ]


async def test_out_of_attempts_is_a_dead_letter_that_keeps_its_error(app, working):
    @app.task(max_attempts=2, retry=QUICK)
    async def broken():
        raise ValueError("bad \0 byte \ud800")

    async with working():
        task = await broken.enqueue()
        with pytest.raises(TaskFailed, match="ValueError: bad"):
            await task.result(60)
        details = await task.details()
    assert details["state"] == "ERROR" and details["attempts"] == 2
    assert details["error"]["where"].startswith("test_endings.py")
    assert "raise ValueError" in details["error"]["traceback"]


@pytest.mark.parametrize("error", [PermanentError("no key configured"), KeyError("x")])
async def test_a_permanent_error_is_not_retried(app, working, error):
    runs = []

    @app.task(retry=RetryPolicy(base_seconds=0.01, permanent=(KeyError,)))
    async def misconfigured():
        runs.append(1)
        raise error

    async with working():
        state, _, _ = await (await misconfigured.enqueue()).wait(60)
    assert state is State.ERROR and len(runs) == 1


async def test_a_throttled_run_waits_as_asked_and_burns_no_attempt(app, working):
    times = []

    @app.task(max_attempts=1)
    async def call(ctx: Context) -> int:
        times.append(time.monotonic())
        if len(times) == 1:
            raise ThrottledError("429", retry_after=0.5)
        return ctx.attempt

    async with working():
        task = await call.enqueue()
        assert await task.result(60) == 1
        history = (await task.details())["history"]
    assert times[1] - times[0] >= 0.5
    assert [(one["cause"], one["burned"]) for one in history] == [("throttled", False)]


async def test_an_http_error_is_judged_by_its_status(app, working):
    class Answer:
        def __init__(self, status, headers=None):
            self.status_code, self.headers = status, headers or {}

    class HTTPError(Exception):
        def __init__(self, answer):
            super().__init__(f"HTTP {answer.status_code}")
            self.response = answer

    answers = {
        "gone": [Answer(404)],
        "busy": [Answer(429, {"Retry-After": "0.1"}), None],
        "broken": [Answer(503), None],
    }

    @app.task(retry=QUICK, max_attempts=2)
    async def fetch(which: str) -> str:
        answer = answers[which].pop(0)
        if answer is not None:
            raise HTTPError(answer)
        return "ok"

    async with working():
        gone, busy, broken = [await fetch.enqueue(which) for which in ("gone", "busy", "broken")]
        assert (await gone.wait(60))[0] is State.ERROR
        assert await busy.result(60) == await broken.result(60) == "ok"
        assert (await gone.details())["attempts"] == 1
        assert [one["cause"] for one in (await busy.details())["history"]] == ["throttled"]
        assert [one["cause"] for one in (await broken.details())["history"]] == ["retry"]


async def test_a_snooze_comes_back_without_burning_an_attempt(app, working):
    runs = []

    @app.task(max_attempts=1)
    async def later(ctx: Context):
        runs.append(ctx.attempt)
        return Snooze(timedelta(seconds=0.2), "not ready") if len(runs) < 3 else "ready"

    async with working():
        assert await (await later.enqueue()).result(60) == "ready"
    assert runs == [1, 1, 1]


@pytest.mark.parametrize(
    ("value", "part"), [(object(), "not JSON"), (float("nan"), "NaN"), ("\0", "NUL"), (b"raw", "bytes"), ({1, "a"}, "")]
)
async def test_a_result_that_cannot_be_stored_ends_as_error_with_the_reason(app, working, value, part):
    @app.task()
    async def give():
        return value

    async with working():
        state, _, error = await (await give.enqueue()).wait(60)
    assert state is State.ERROR
    assert part in error["message"]


async def test_an_unstorable_result_does_not_hold_up_its_neighbours(app, working):
    @app.task()
    async def echo(n: int):
        return "\ud800" if n == 50 else n

    async with working():
        job = await echo.enqueue_many({"n": n} for n in range(100))
        counts = await job.wait(60)
    assert (counts.done, counts.error) == (99, 1)


async def test_a_handler_past_its_deadline_is_interrupted_and_retried(app, working):
    @app.task(timeout=0.2, max_attempts=2, retry=QUICK)
    async def slow():
        await asyncio.sleep(30)

    async with working():
        task = await slow.enqueue()
        state, _, error = await task.wait(60)
        history = (await task.details())["history"]
    assert state is State.ERROR and error["class"] == "timeout"
    assert "0.2 s" in error["message"]
    assert [one["cause"] for one in history] == ["timeout"]


async def test_a_timeout_can_be_set_for_one_task(app, working):
    @app.task(max_attempts=1)
    async def slow():
        await asyncio.sleep(30)

    async with working():
        state, _, error = await (await slow.options(timeout=0.2).enqueue()).wait(60)
    assert state is State.ERROR and error["class"] == "timeout"


async def test_cancelling_a_waiting_task_ends_it_at_once(app):
    @app.task()
    async def never():
        return None

    task = await never.enqueue()
    assert await task.cancel(by="ann") is State.CANCELLED
    state, _, error = await task.wait(60)
    assert state is State.CANCELLED and error["message"] == "cancelled by ann"
    with pytest.raises(IllegalMove, match="it is CANCELLED"):
        await task.cancel()


async def test_a_running_async_handler_is_cancelled_within_a_heartbeat(app, working):
    started = asyncio.Event()

    @app.task()
    async def long():
        started.set()
        await asyncio.sleep(60)

    async with working():
        task = await long.enqueue()
        await asyncio.wait_for(started.wait(), 60)
        assert await task.cancel() is State.PROCESSING
        assert (await task.wait(60))[0] is State.CANCELLED


async def test_a_running_thread_sees_the_cancel_in_ctx(app, working):
    @app.task()
    def long(ctx: Context) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if ctx.cancelled:
                raise RuntimeError("stopped as asked")
            time.sleep(0.01)

    async with working():
        task = await long.enqueue()
        while await task.state() is not State.PROCESSING:
            await asyncio.sleep(0.02)
        await task.cancel()
        assert (await task.wait(60))[0] is State.CANCELLED


async def test_a_finished_task_can_be_reprocessed_and_its_first_end_stays_in_the_history(app, working):
    values = iter([ValueError("first"), "second"])

    @app.task(max_attempts=1)
    async def once(ctx: Context):
        value = next(values)
        if isinstance(value, Exception):
            raise value
        return [value, ctx.run]

    async with working():
        task = await once.enqueue()
        assert (await task.wait(60))[0] is State.ERROR
        await task.reprocess(by="ann")
        assert await task.result(60) == ["second", 2]
        history = (await task.details())["history"]
    assert [one["cause"] for one in history] == ["reprocess"]
    assert history[0]["error"]["by"] == "ann"
    assert history[0]["error"]["error"]["message"] == "first"


async def test_a_task_that_was_skipped_without_a_reason_can_be_reprocessed(app, working):
    endings = iter([Skip(), "second"])

    @app.task()
    async def once():
        return next(endings)

    async with working():
        task = await once.enqueue()
        assert (await task.wait(60))[0] is State.SKIPPED
        await task.reprocess()
        assert await task.result(60) == "second"


async def test_a_waiting_task_cannot_be_reprocessed(app):
    @app.task()
    async def never():
        return None

    task = await never.enqueue()
    with pytest.raises(IllegalMove, match="PENDING"):
        await task.reprocess()


async def test_waiting_for_a_result_ends_with_the_time_and_says_the_state(app):
    @app.task()
    async def never():
        return None

    task = await never.enqueue()
    with pytest.raises(WaitTimeout, match=r"still PENDING after 0.1 s"):
        await task.result(0.1)
    with pytest.raises(TaskNotFound, match="no task 999"):
        await app.task_by_id(999).result(60)


async def test_context_variables_do_not_leak_from_one_task_to_the_next(app, working):
    import contextvars

    leak = contextvars.ContextVar("leak", default="clean")

    @app.task(pool=1)
    async def stain(n: int) -> str:
        before = leak.get()
        leak.set(f"stained by {n}")
        return before

    async with working():
        job = await stain.enqueue_many([{"n": n} for n in range(20)])
        await job.wait(60)
        async with app.connection() as connection:
            results = await connection.fetch("select result from penstock.outcomes")
    assert {row["result"] for row in results} == {'"clean"'}


async def test_an_error_that_cannot_describe_itself_still_ends_its_task(app, working):
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @app.task(max_attempts=1)
    async def fail():
        raise Mute

    @app.task()
    async def odd():
        return NotFound("a\0b \ud800")

    async with working():
        state, _, error = await (await fail.enqueue()).wait(60)
        assert state is State.ERROR and "__str__ raised RuntimeError" in error["message"]
        state, _, error = await (await odd.enqueue()).wait(60)
        assert state is State.NOT_FOUND and error["message"] == "a\\0b \\ud800"


async def test_events_tell_each_ending_once_and_none_that_was_refused(app, working, heard):
    @app.task(max_attempts=1)
    async def mixed(ctx: Context, n: int):
        if n == 1:
            raise ValueError
        if n == 2:
            async with ctx.transaction() as transaction:
                transaction.result = n
        if n == 3:
            async with app.connection() as connection:
                await connection.execute(
                    "update penstock.queue set lease = lease + 1000 where task_id = $1", ctx.task_id
                )

    async with working():
        done, failed, inside, stale = [await mixed.enqueue(n) for n in range(4)]
        await asyncio.gather(done.wait(60), failed.wait(60), inside.wait(60))
        while not heard.named("tasks.stale"):
            await asyncio.sleep(0.02)
    told = [(task, one["state"]) for one in heard.named("tasks.finished") for task in one["tasks"]]
    assert sorted(told) == [(done.id, "DONE"), (failed.id, "ERROR"), (inside.id, "DONE")]
    assert [one["tasks"] for one in heard.named("tasks.stale")] == [[stale.id]]


class OwnBaseException(BaseException):
    pass


@pytest.mark.parametrize(
    "odd", ["snooze inf", "snooze nan", "snooze text", "skip mute", "base exception", "system exit"]
)
async def test_nothing_a_handler_does_takes_its_processor_down(app, working, odd):
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @app.task(pool=1, max_attempts=1)
    async def strange():
        match odd:
            case "snooze inf":
                return Snooze(float("inf"))
            case "snooze nan":
                return Snooze(float("nan"))
            case "snooze text":
                return Snooze("abc")
            case "skip mute":
                return Skip(Mute())
            case "base exception":
                raise OwnBaseException("odd")
            case _:
                raise SystemExit(3)

    @app.task(pool=1)
    async def plain() -> int:
        return 1

    async with working() as inside:
        tasks = [await strange.enqueue() for _ in range(3)]
        for task in tasks:
            assert (await task.wait(60))[0] is State.ERROR
        assert await (await plain.enqueue()).result(60) == 1
        assert all(not processor.task.done() for pool in inside.runner.pools.values() for processor in pool.processors)


async def test_a_runner_whose_loop_fails_comes_back_under_a_new_id(app, working, heard):
    @app.task()
    async def plain() -> int:
        return 1

    async with working() as inside:
        await (await plain.enqueue()).result(60)
        before = inside.runner.worker
        inside.runner._failure.set_exception(RuntimeError("a bug"))
        async with asyncio.timeout(60):
            while inside.runner.worker == before:
                await asyncio.sleep(0.02)
        assert await (await plain.enqueue()).result(60) == 1
    assert heard.named("worker.died")[0]["cause"] == "RuntimeError: a bug"
