"""Writes of the application beside the end of its task: both or neither."""

import asyncio

import asyncpg
import pytest

from penstock import (
    Context,
    RetryPolicy,
    Snooze,
    State,
)
from penstock.errors import UsageError

QUICK = RetryPolicy(base_seconds=0.01)


async def test_the_apps_writes_and_the_end_commit_together(app, working):
    @app.task()
    async def credit(ctx: Context, account: int):
        async with ctx.transaction() as transaction:
            await transaction.connection.execute("insert into effects values ($1)", account)
            transaction.result = {"account": account}

    async with app.connection() as connection:
        await connection.execute("create table effects (account int)")
    async with working():
        task = await credit.enqueue(7)
        assert await task.result(60) == {"account": 7}
    async with app.connection() as connection:
        assert await connection.fetchval("select count(*) from effects") == 1


async def test_a_stale_lease_rolls_the_apps_writes_back(app, working):
    taken, go = asyncio.Event(), asyncio.Event()

    @app.task()
    async def credit(ctx: Context, account: int):
        async with ctx.transaction() as transaction:
            await transaction.connection.execute("insert into effects values ($1)", account)
            if ctx.attempt == 1 and not taken.is_set():
                taken.set()
                await go.wait()
        return None

    async with app.connection() as connection:
        await connection.execute("create table effects (account int)")
    async with working():
        task = await credit.enqueue(7)
        await asyncio.wait_for(taken.wait(), 60)
        async with app.connection() as connection:  # as if it had been rescued
            await connection.execute(
                "update penstock.queue set worker = null, lease = nextval('penstock.lease_numbers') where task_id = $1",
                task.id,
            )
        go.set()
        await task.wait(60)
    async with app.connection() as connection:
        assert await connection.fetchval("select count(*) from effects") == 1


async def test_a_second_transaction_in_one_run_is_refused(app, working):
    @app.task(max_attempts=1)
    async def twice(ctx: Context):
        async with ctx.transaction():
            pass
        with pytest.raises(UsageError, match="once per run"):
            async with ctx.transaction():
                pass

    async with working():
        assert (await (await twice.enqueue()).wait(60))[0] is State.DONE


async def test_a_snooze_as_result_of_a_transaction_is_refused_and_rolled_back(app, working):
    @app.task(max_attempts=1)
    async def confused(ctx: Context):
        async with ctx.transaction() as transaction:
            await transaction.connection.execute("insert into effects values (1)")
            transaction.result = Snooze(60)

    async with app.connection() as connection:
        await connection.execute("create table effects (account int)")
    async with working():
        state, _, error = await (await confused.enqueue()).wait(60)
    assert state is State.ERROR
    assert "return the Snooze" in error["message"]
    async with app.connection() as connection:
        assert await connection.fetchval("select count(*) from effects") == 0


async def test_an_open_transaction_with_a_unique_key_holds_up_only_that_task(app, working, database_url):
    started, fail = asyncio.Event(), asyncio.Event()

    @app.task(retry=QUICK)
    async def keyed(n: int):
        if n == 1:
            started.set()
            await fail.wait()
            raise ConnectionError

    async with working():
        task = await keyed.options(unique_key="k").enqueue(1)
        await asyncio.wait_for(started.wait(), 60)
        other = await asyncpg.connect(database_url)
        transaction = other.transaction()
        await transaction.start()
        await keyed.options(unique_key="k").enqueue_on(other, 2)
        fail.set()
        job = await keyed.enqueue_many([{"n": 3}] * 20)
        assert (await job.wait(60)).done == 20
        assert await task.state() is State.PROCESSING
        await transaction.rollback()
        await other.close()
        async with asyncio.timeout(60):
            while await task.state() is State.PROCESSING:
                await asyncio.sleep(0.05)
