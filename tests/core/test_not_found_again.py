"""A task that finds nothing may look again, in another way each time, before it ends NOT_FOUND."""

import asyncio
from datetime import timedelta

import pytest

from penstock import Context, NotFound, Penstock, RetryPolicy, State
from penstock.config import load
from penstock.insight.why import Reason, explain

SOON_SECONDS = 0.01
PATIENCE_SECONDS = 60


def _causes(details):
    return [(one["cause"], one["burned"], (one["error"] or {}).get("message")) for one in details["history"]]


async def test_each_look_burns_an_attempt_and_the_last_one_ends_not_found(app, working):
    ways = []

    @app.task()
    async def look(ctx: Context) -> NotFound:
        ways.append(ctx.attempt)
        return NotFound(f"way {ctx.attempt} leads nowhere", again_after=SOON_SECONDS)

    async with working():
        task = await look.enqueue()
        state, _, error = await task.wait(PATIENCE_SECONDS)
        details = await task.details()
    assert state is State.NOT_FOUND
    assert error == {"message": "way 3 leads nowhere"}
    assert ways == [1, 2, 3]
    assert details["attempts"] == 3
    assert _causes(details) == [
        ("not_found", True, "way 1 leads nowhere"),
        ("not_found", True, "way 2 leads nowhere"),
    ]


async def test_what_the_second_look_finds_is_the_result(app, working):
    @app.task()
    async def look(ctx: Context) -> str | NotFound:
        return "found" if ctx.attempt == 2 else NotFound(again_after=timedelta(seconds=SOON_SECONDS))

    async with working():
        task = await look.enqueue()
        assert await task.result(PATIENCE_SECONDS) == "found"
        assert _causes(await task.details()) == [("not_found", True, None)]


async def test_a_plain_function_in_a_thread_looks_again_as_well(app, working):
    @app.task()
    def look() -> NotFound:
        return NotFound("no", again_after=SOON_SECONDS)

    async with working():
        task = await look.enqueue()
        assert (await task.wait(PATIENCE_SECONDS))[0] is State.NOT_FOUND
        assert (await task.details())["attempts"] == 3


@pytest.mark.parametrize(("limit", "tries", "looks"), [(1, None, 1), (2, None, 2), (5, 2, 2), (5, 6, 5)])
async def test_the_number_of_looks_is_a_setting_and_never_above_the_tries_of_the_task(
    database_url, limit, tries, looks
):
    from penstock.workers.inprocess import InProcessWorker

    settings = load(database_url=database_url, max_attempts_not_found=limit, poll_max_seconds=0.3)
    app = Penstock("looking", settings=settings)
    seen = []

    @app.task(max_attempts=tries)
    async def look() -> NotFound:
        seen.append(1)
        return NotFound(again_after=SOON_SECONDS)

    try:
        async with InProcessWorker(app):
            assert (await (await look.enqueue()).wait(PATIENCE_SECONDS))[0] is State.NOT_FOUND
    finally:
        await app.close()
    assert len(seen) == looks


async def test_errors_and_looks_share_the_attempts_of_the_task(app, working):
    @app.task(max_attempts=3, retry=RetryPolicy(base_seconds=SOON_SECONDS))
    async def look(ctx: Context) -> NotFound:
        if ctx.attempt == 1:
            raise ConnectionError("away")
        return NotFound("no", again_after=SOON_SECONDS)

    async with working():
        task = await look.enqueue()
        assert (await task.wait(PATIENCE_SECONDS))[0] is State.NOT_FOUND
        details = await task.details()
    assert [cause for cause, _, _ in _causes(details)] == ["retry", "not_found"]


async def test_why_says_when_it_looks_again_and_as_which_try(app, working, heard):
    @app.task()
    async def look() -> NotFound:
        return NotFound("the shop does not list it", again_after=36_000)

    async with working():
        task = await look.enqueue()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not heard.named("tasks.released"):
                await asyncio.sleep(0.01)
        async with app.connection() as connection:
            why = await explain(connection, task.id)
    assert why.reason is Reason.RETRY
    assert "found nothing and looks again, as try 2, in 10 h (the shop does not list it)" in why.sentence
    assert why.until is not None and 35_000 < (why.until - why.read_at).total_seconds() <= 36_000
    assert why.state is State.PENDING


async def test_a_look_that_found_nothing_is_no_failed_run(app, working, heard):
    @app.task()
    async def look() -> NotFound:
        return NotFound("no", again_after=SOON_SECONDS)

    async with working() as inside:
        await (await look.enqueue()).wait(PATIENCE_SECONDS)
        assert inside.runner.paces["look"].errors == 0
    assert heard.named("tasks.failed") == []
    assert [one["cause"] for one in heard.named("tasks.released")] == ["not_found", "not_found"]


@pytest.mark.parametrize("odd", [-1, float("nan"), float("inf")])
async def test_a_time_that_cannot_be_waited_for_is_an_error_that_names_it(app, working, odd):
    @app.task()
    async def look() -> NotFound:
        return NotFound("no", again_after=odd)

    async with working():
        state, _, error = await (await look.enqueue()).wait(PATIENCE_SECONDS)
    assert state is State.ERROR
    assert f"NotFound(again_after={odd!r})" in error["message"]


async def test_a_cancel_between_two_looks_ends_it(app, working, heard):
    @app.task()
    async def look() -> NotFound:
        return NotFound("no", again_after=600)

    async with working():
        task = await look.enqueue()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not heard.named("tasks.released"):
                await asyncio.sleep(0.01)
        await task.cancel()
        assert (await task.wait(PATIENCE_SECONDS))[0] is State.CANCELLED
