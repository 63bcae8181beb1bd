"""What is decided about a job, against transactions that are open and tasks that a runner holds."""

import asyncio

import asyncpg
import pytest

from penstock import JobState, State
from penstock.storage import lanes


@pytest.mark.parametrize("decision", ["cancel", "pause"])
async def test_a_decision_about_a_job_reaches_a_lane_that_was_opened_in_an_open_transaction(
    app, record, working, database_url, decision
):
    job = await record.enqueue_many([{"label": "first"}])
    outside = await asyncpg.connect(database_url)
    try:
        async with outside.transaction():
            late = await record.options(job=job, priority="high").enqueue_on(outside, "late")
            await getattr(job, decision)()
        async with working():
            await (await record.enqueue("other")).result(60)
            assert await late.state() is State.PENDING or decision == "cancel"
            if decision == "pause":
                assert await job.state() is JobState.PAUSED
                await job.resume()
                await job.wait(60)
            else:
                assert (await late.wait(60))[0] is State.CANCELLED
                assert await job.state() is JobState.CANCELLED
    finally:
        await outside.close()
    # Which of the two comes first is left open: a lane found without work is not looked at again at once.
    assert record.ran[:1] == ["other"]
    assert sorted(record.ran[1:]) == ([] if decision == "cancel" else ["first", "late"])


@pytest.mark.parametrize("decision", ["cancel", "pause"])
async def test_tasks_a_runner_holds_do_not_begin_after_the_decision_reached_it(app, working, decision):
    begun = []
    free = asyncio.Event()

    @app.task(pool=1)
    async def slow(n: int):
        begun.append(n)
        await free.wait()

    job = await slow.enqueue_many([{"n": n} for n in range(5)])
    async with working():
        while not (begun and (await job.counts()).processing == 5):
            await asyncio.sleep(0.01)
        await getattr(job, decision)()
        while (await job.counts()).processing > (1 if decision == "pause" else 0):
            await asyncio.sleep(0.01)
        free.set()
        counts = await job.counts() if decision == "pause" else await job.wait(60)
    assert begun == [0]
    assert counts.pending + counts.cancelled == 5 - (decision == "pause")


async def test_a_job_moves_to_a_priority_that_an_enqueue_is_just_opening(app, record, connection, database_url):
    job = await record.enqueue_many([{"label": "first"}])
    outside = await asyncpg.connect(database_url)
    try:
        async with outside.transaction():
            await record.options(job=job, priority="high").enqueue_on(outside, "late")
            moving = asyncio.create_task(job.reprioritise("high"))
            waiting = (
                "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            )
            while not await connection.fetchval(waiting):
                await asyncio.sleep(0.01)
        await moving
    finally:
        await outside.close()
    found = await lanes.of_job(connection, job.id)
    assert len({lane["priority"] for lane in found}) == 1 and len(found) == 2
