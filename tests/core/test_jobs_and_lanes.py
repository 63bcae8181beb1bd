"""Jobs, lanes, priorities and limits, as people steer them."""

import asyncio

import asyncpg
import pytest

from penstock import Context, JobState, NotFound, PermanentError, RetryPolicy, State
from penstock.core import jobs as job_moves
from penstock.errors import IllegalMove, JobNotFound
from penstock.storage import jobs, lanes, stages


async def test_a_job_tells_its_state_from_start_to_end(app, record, working):
    job = await record.enqueue_many([{"label": str(n)} for n in range(50)])
    assert await job.state() is JobState.QUEUED
    await job.pause(by="ann", reason="too early")
    assert await job.state() is JobState.PAUSED
    async with working():
        other = await record.enqueue("other")
        await other.result(60)
        counts = await job.counts()
        assert (counts.pending, counts.done) == (50, 0)
        await job.resume()
        assert (await job.wait(60)).done == 50
    assert await job.state() is JobState.DONE


async def test_counts_always_sum_to_the_total(app, working):
    @app.task(max_attempts=1)
    async def mixed(n: int):
        if n % 3 == 0:
            raise ValueError(n)
        await asyncio.sleep(0.001)

    async with working():
        job = await mixed.enqueue_many([{"n": n} for n in range(300)])
        while True:
            now = await job.counts()
            parts = (now.pending, now.processing, now.done, now.error, now.not_found, now.skipped, now.cancelled)
            assert sum(parts) == now.total == 300 and min(parts) >= 0
            if now.finished == 300:
                break
    assert (now.done, now.error) == (200, 100)
    assert await job.state() is JobState.FAILED


async def test_reprocessing_the_failed_tasks_of_a_job_keeps_the_counts_right(app, working):
    healed = asyncio.Event()

    @app.task(max_attempts=1)
    async def mixed(n: int):
        if n % 3 == 0 and not healed.is_set():
            raise ValueError(n)

    async with working():
        job = await mixed.enqueue_many([{"n": n} for n in range(30)])
        assert (await job.wait(60)).error == 10
        healed.set()
        assert await job.reprocess(statuses=(State.ERROR,)) == 10
        counts = await job.wait(60)
    assert (counts.total, counts.done, counts.error) == (30, 30, 0)


async def test_a_job_runs_its_failed_and_its_unmatched_tasks_again_unless_told_otherwise(app, working):
    @app.task(max_attempts=1)
    async def mixed(n: int):
        if n % 3 == 0:
            raise ValueError(n)
        return NotFound("nobody has it") if n % 3 == 1 else n

    async with working():
        job = await mixed.enqueue_many([{"n": n} for n in range(9)])
        await job.wait(60)
    assert await job.reprocess() == 6
    counts = await job.counts()
    assert (counts.pending, counts.done) == (6, 3)


async def test_tasks_that_used_up_their_attempts_run_again_only_with_fresh_ones(app, working, monkeypatch):
    """Batches smaller than the tasks that are left out: the next batch has to go on behind them."""
    monkeypatch.setattr(job_moves, "_BATCH", 2)

    @app.task(max_attempts=2, retry=RetryPolicy(base_seconds=0.01))
    async def mixed(n: int):
        if n < 5:
            raise ValueError(n)
        raise PermanentError(str(n))

    async with working():
        job = await mixed.enqueue_many([{"n": n} for n in range(9)])
        await job.wait(60)
    async with app.connection() as connection:
        await connection.execute(
            "update penstock.outcomes set finished_at = finished_at - interval '1 hour' where attempts = 2"
        )
        assert await job.reprocess(reset_attempts=False) == 4
        kept = await connection.fetch("select attempt, max_attempts from penstock.queue")
    assert [tuple(row) for row in kept] == [(1, 2)] * 4
    assert await job.reprocess() == 5


async def test_a_job_that_was_just_cancelled_can_be_run_again_at_once(app, record, working):
    job = await record.enqueue_many([{"label": str(n)} for n in range(2500)])
    await job.cancel()
    # Nobody has swept its lanes yet.
    assert await job.reprocess(statuses=(State.CANCELLED,)) == 2500
    assert (await job.counts()).pending == 2500
    async with working():
        assert (await job.wait(60)).done == 2500


async def test_cancelling_a_job_touches_one_row_and_shows_at_once(app, record, working):
    job = await record.enqueue_many([{"label": str(n)} for n in range(3000)])
    async with app.connection() as connection:
        before = await connection.fetchval("select xmin::text from penstock.queue limit 1")
        await job.cancel(by="ann")
        assert await connection.fetchval("select count(*) from penstock.queue where xmin::text <> $1", before) == 0
    assert (await job.counts()).cancelled == 3000
    assert await job.state() is JobState.CANCELLED
    with pytest.raises(IllegalMove):
        await job.pause()
    async with working():
        await (await record.enqueue("after")).result(60)
        async with app.connection() as connection:
            while await connection.fetchval("select count(*) from penstock.queue"):
                await asyncio.sleep(0.05)
            assert await connection.fetchval("select count(*) from penstock.outcomes where status = 6") == 3000
    assert record.ran == ["after"]
    assert (await job.counts()).cancelled == 3000


async def test_a_cancelled_job_stops_its_running_tasks(app, working):
    started = asyncio.Event()

    @app.task()
    async def long():
        started.set()
        await asyncio.sleep(60)

    async with working():
        job = await long.enqueue_many([{}] * 5)
        await asyncio.wait_for(started.wait(), 60)
        await job.cancel()
        assert (await job.wait(60)).cancelled == 5


async def test_a_job_that_does_not_exist_says_so(app):
    with pytest.raises(JobNotFound, match="no job 77"):
        await app.job_by_id(77).state()


async def test_a_more_urgent_task_runs_first_whatever_the_order_of_arrival(app, record, working):
    for priority in ("low", 50, "normal", "high", -90):
        await record.options(priority=priority).enqueue_many([{"label": str(priority)}] * 3)
    async with working():
        async with app.connection() as connection:
            while await connection.fetchval("select count(*) from penstock.queue"):
                await asyncio.sleep(0.02)
    assert record.ran == [str(p) for p in (-90, "high", "normal", "low", 50) for _ in range(3)]


async def test_lanes_of_one_priority_take_turns(app, record, working):
    """A tenant with many tasks does not keep another waiting: the single one is among the first."""
    await record.options(lane="big").enqueue_many([{"label": "big"}] * 2000)
    await record.options(lane="small").enqueue("small")
    async with working():
        async with app.connection() as connection:
            while await connection.fetchval("select count(*) from penstock.queue"):
                await asyncio.sleep(0.02)
    assert record.ran.index("small") < 20


async def test_a_fleet_wide_limit_is_exact_over_several_workers(app, working):
    running, most = 0, 0
    two = asyncio.Event()

    @app.task(pool=10, max_running=2)
    async def narrow():
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            two.set()
        await two.wait()
        await asyncio.sleep(0.01)  # time for a third one to come
        running -= 1

    async with working(), working(), working():
        job = await narrow.enqueue_many([{}] * 60)
        assert (await job.wait(60)).done == 60
    assert most == 2


async def test_a_lane_limit_holds_across_stages(app, crowded, working):
    await app.open()
    job = await crowded.enqueue_many([{"n": n} for n in range(20)])
    async with app.connection() as connection:
        await lanes.configure(connection, "pipe", f"job:{job.id}", set_limit=True, max_running=1)
    async with working(), working():
        assert (await job.wait(60)).done == 20
    assert crowded.most == 1


async def test_a_paused_stage_is_left_alone_until_it_is_resumed(app, record, working):
    @app.task()
    async def other() -> None: ...

    await app.open()
    async with app.connection() as connection:
        await stages.pause(connection, "note", None, "ann", "provider down")
    async with working():
        task = await record.enqueue("x")
        for _ in range(3):  # each is claimed by a look at all stages
            await (await other.enqueue()).result(60)
        assert await task.state() is State.PENDING
        async with app.connection() as connection:
            await stages.resume(connection, "note", None)
        assert await task.result(60) == "x"


async def test_many_lanes_are_all_served(app, working):
    @app.task()
    async def note(n: int) -> int:
        return n

    for n in range(60):
        await note.options(owner=f"user-{n}").enqueue(n)
    async with working():
        async with app.connection() as connection:
            async with asyncio.timeout(60):
                while await connection.fetchval("select count(*) from penstock.queue"):
                    await asyncio.sleep(0.02)


async def test_an_idle_lane_is_put_to_rest_and_wakes_with_the_next_task(app, record, working):
    task = await record.options(owner="ann").enqueue("first")
    async with working():
        await task.result(60)
        async with app.connection() as connection:
            assert await lanes.deactivate_idle(connection, batch=10, idle_seconds=0) == 1
        assert await (await record.options(owner="ann").enqueue("second")).result(60) == "second"


async def test_a_job_moves_to_another_priority_as_a_whole(app, record, working):
    await record.enqueue_many([{"label": "plain"}] * 3)
    urgent = await record.options(priority="low").enqueue_many([{"label": "moved"}] * 3)
    await urgent.reprioritise(-50)
    async with working():
        async with app.connection() as connection:
            while await connection.fetchval("select count(*) from penstock.queue"):
                await asyncio.sleep(0.02)
    assert record.ran == ["moved"] * 3 + ["plain"] * 3


async def test_ctx_knows_its_job(app, working):
    @app.task()
    async def who(ctx: Context):
        return ctx.job_id

    async with working():
        job = await who.enqueue_many([{}])
        await job.wait(60)
        async with app.connection() as connection:
            assert await connection.fetchval("select result from penstock.outcomes") == str(job.id)


async def test_a_long_transaction_in_an_idle_lane_keeps_nobody_waiting(app, record, working, database_url):
    """Waking a lane is appended, not updated: two transactions may do it at once."""
    await app.open()
    async with app.connection() as connection:
        await connection.execute("insert into penstock.lanes (pipeline, key, active) values ('note', 'default', false)")
    slow = await asyncpg.connect(database_url)
    transaction = slow.transaction()
    await transaction.start()
    await record.enqueue_on(slow, "slow")
    async with working():
        async with asyncio.timeout(60):
            assert await (await record.enqueue("quick")).result() == "quick"
        await transaction.commit()
        async with app.connection() as connection:
            while await connection.fetchval("select count(*) from penstock.queue"):
                await asyncio.sleep(0.02)
            assert await lanes.activate_woken(connection) in (0, 1)
            assert await connection.fetchval("select active from penstock.lanes")
    await slow.close()
    assert record.ran == ["quick", "slow"]


async def test_a_job_with_several_priorities_moves_to_one(app, record):
    job = await record.enqueue_many([{"label": "a"}])
    await record.options(job=job, priority="high").enqueue("b")
    await record.options(job=job, priority="low").enqueue("c")
    await job.reprioritise(-10)
    async with app.connection() as connection:
        rows = await connection.fetch("select priority from penstock.lanes where job_id = $1", job.id)
    assert [row["priority"] for row in rows] == [-10, -10, -10]
    await record.options(job=job, priority="high").enqueue("d")
    assert (await job.counts()).total == 4


async def test_a_lane_limit_is_one_for_all_priorities_and_all_runners(app, crowded, working):
    await app.open()
    await crowded.options(lane="ann").enqueue(n=0)
    async with app.connection() as connection:
        await lanes.configure(connection, "pipe", "ann", set_limit=True, max_running=1)
    tasks = [await crowded.options(lane="ann", priority=priority).enqueue(n=1) for priority in ("high", 0, "low") * 4]
    async with working(only=["pipe/one"]), working(only=["pipe/two"]):
        await asyncio.gather(*(task.wait(60) for task in tasks))
    assert crowded.most == 1


async def test_a_paused_lane_stays_paused_at_every_priority(app, record, working):
    await record.options(lane="ann").enqueue("first")
    async with app.connection() as connection:
        await lanes.pause(connection, "note", "ann", by="bob", reason="holiday")
    later = await record.options(lane="ann", priority="high").enqueue("urgent")
    async with working():
        await (await record.enqueue("other")).result(60)
        assert await later.state() is State.PENDING
    assert record.ran == ["other"]


async def test_two_jobs_with_one_lane_name_keep_their_own_counts(app, record):
    first = await record.options(lane="imports").enqueue_many([{"label": "a"}] * 3)
    second = await record.options(lane="imports").enqueue_many([{"label": "b"}] * 4)
    await record.options(lane="imports", job=second).enqueue("c")
    assert ((await first.counts()).total, (await second.counts()).total) == (3, 5)
    await first.cancel()
    assert (await second.counts()).pending == 5


async def test_many_lanes_that_are_empty_now_do_not_slow_a_claim(app, record, working):
    await app.open()
    async with app.connection() as connection:
        await connection.execute(
            "insert into penstock.lanes (pipeline, key) select 'note', 'owner:' || n from generate_series(1, 3000) n"
        )
    async with working() as inside:
        await (await record.enqueue("first")).result(60)
        statements = 0
        turns = inside.runner.discovery.claimer.turns
        looks = turns.looks

        def counted(room):
            nonlocal statements
            for look in looks(room):
                statements += 1
                yield look

        turns.looks = counted
        await (await record.options(owner="9").enqueue("second")).result(60)
    assert statements < 60


async def test_retention_leaves_a_job_that_somebody_is_adding_to(app, record, database_url):
    job = await record.enqueue_many([{"label": "old"}])
    async with app.connection() as connection:
        await connection.execute("delete from penstock.queue; delete from penstock.tasks")
        await connection.execute("update penstock.jobs set created_at = now() - interval '60 days'")
        adding = await asyncpg.connect(database_url)
        transaction = adding.transaction()
        await transaction.start()
        await record.options(job=job).enqueue_on(adding, "new")
        assert await jobs.expire(connection, 86_400.0) == 0
        await transaction.commit()
        await adding.close()
        assert await jobs.expire(connection, 86_400.0) == 0
        assert await connection.fetchval("select count(*) from penstock.lanes") == 1
        await connection.execute("delete from penstock.queue; delete from penstock.tasks")
        assert await jobs.expire(connection, 86_400.0) == 1
