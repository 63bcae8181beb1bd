"""The limiter inside real runs: what a task's history says, and who is held back."""

import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from penstock import Context, ThrottledError
from penstock.brokers import budgets
from penstock.errors import WaitTimeout
from penstock.storage import limits
from penstock.workers import facilities
from tests.recorded_grants import RecordedGrants
from tests.unit.gcra import most_above_the_limit

KEY = "wikidata"


@pytest.fixture
def granted(monkeypatch: pytest.MonkeyPatch) -> RecordedGrants:
    """What the workers of this process were granted."""
    recorded = RecordedGrants()

    def watched(*given: Any) -> Any:
        made = budgets.budgets_of(*given)
        recorded.watch(made)
        return made

    monkeypatch.setattr(facilities, "budgets_of", watched)
    return recorded


async def test_tasks_together_keep_the_limit_and_lose_no_attempt(app, working, connection, granted):
    await limits.configure(connection, KEY, rate=2, burst=1)
    calls = []

    @app.task(pool=8)
    async def look_up(ctx: Context):
        async with ctx.limiter(KEY):
            calls.append(time.monotonic())
            assert ctx.attempt == 1

    tasks = [await look_up.enqueue() for _ in range(9)]  # before: one by one they might be slower than the limit
    async with working():
        for task in tasks:
            await task.result(60)
    assert len(calls) == 9
    assert most_above_the_limit(granted.grants, rate=2, burst=1) <= 1e-3
    assert granted.used_early(calls) == []
    causes = await connection.fetch("select distinct cause, burned from penstock.attempts")
    assert [tuple(row) for row in causes] == [("throttled", False)]


@pytest.mark.parametrize("inside", [True, False])
async def test_one_throttled_task_holds_back_all_others(app, working, heard, inside):
    calls = []

    @app.task(pool=4)
    async def call(ctx: Context):
        if not calls:
            calls.append(time.monotonic())
            if inside:
                async with ctx.limiter(KEY):
                    raise ThrottledError("429", retry_after=1.0)
            raise ThrottledError("429", retry_after=1.0, key=KEY)
        async with ctx.limiter(KEY):
            calls.append(time.monotonic())

    async with working():
        first = await call.enqueue()
        while not heard.named("limiter.blocked"):
            await let_work(first)
        others = [await call.enqueue() for _ in range(6)]
        for task in [first, *others]:
            await task.result(60)
    began, *later = calls
    assert len(later) == 7
    assert min(later) >= began + 1.0
    assert [event["key"] for event in heard.named("limiter.blocked")] == [KEY]


class Refusal(Exception):
    """As HTTP clients raise it: with the answer."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__("429 Too Many Requests")
        self.response = SimpleNamespace(status_code=429, headers=headers)


async def test_a_429_with_a_date_that_no_calendar_has_burns_no_attempt(app, working, connection):
    calls = []

    @app.task(max_attempts=2)
    async def call(ctx: Context) -> int:
        async with ctx.limiter(KEY):
            calls.append(ctx.attempt)
            if len(calls) == 1:
                raise Refusal({"Retry-After": "Mon, 01 Jan 2024 00:00:00 +99999999999999"})
        return ctx.attempt

    async with working():
        assert await (await call.enqueue()).result(60) == 1
    causes = await connection.fetch("select cause, burned from penstock.attempts")
    assert [tuple(row) for row in causes] == [("throttled", False)]


async def let_work(task) -> None:
    """Lets the worker go on for a moment."""
    with suppress(WaitTimeout):
        await task.result(0.02)


async def test_a_weight_above_the_burst_ends_the_task_with_a_sentence(app, working, connection):
    await limits.configure(connection, KEY, rate=1, burst=2)

    @app.task()
    async def greedy(ctx: Context):
        await ctx.limiter(KEY).acquire(weight=5)

    async with working():
        state, _, error = await (await greedy.enqueue()).wait(60)
    assert state.name == "ERROR"
    assert error["message"].startswith("weight at limiter 'wikidata' = 5 will not do: its burst is 2")


async def test_a_handler_in_a_thread_is_limited_too(app, working, connection):
    await limits.configure(connection, KEY, rate=1000, burst=1)

    @app.task()
    def in_thread(ctx: Context):
        with ctx.limiter(KEY):
            return "went"

    async with working():
        assert await (await in_thread.enqueue()).result(60) == "went"
