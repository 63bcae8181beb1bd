"""What can be stored, and what is refused before anything is."""

import asyncio
import math
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from penstock import Penstock, State
from penstock.errors import (
    InvalidArguments,
    InvalidDefinition,
    InvalidSetting,
    NotStorable,
    PayloadTooLarge,
    SchemaOutOfDate,
    UnknownTask,
    UsageError,
)


@pytest.fixture
def tasks(app: Penstock):
    class Tasks:
        @staticmethod
        @app.task()
        async def add(a: int, b: int = 1) -> int:
            return a + b

        @staticmethod
        @app.task()
        async def typed(when: datetime, key: UUID, wait: timedelta) -> str:
            return f"{when.year} {key} {wait.total_seconds():g}"

        @staticmethod
        @app.task()
        async def anything(value) -> None:
            return None

    return Tasks


async def test_the_stored_input_is_what_was_given(app, tasks):
    task = await tasks.add.enqueue(2, b=5)
    details = await task.details()
    assert details["input"] == {"a": 2, "b": 5}
    assert details["state"] == "PENDING"
    assert task.created


async def test_defaults_are_not_stored_so_that_a_new_default_applies(app, tasks):
    task = await tasks.add.enqueue(2)
    assert (await task.details())["input"] == {"a": 2}


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda add: add.enqueue("x"), "a: input should be a valid integer"),
        (lambda add: add.enqueue(), "a: field required"),
        (lambda add: add.enqueue(1, c=2), "unexpected"),
        (lambda add: add.enqueue(1, 2, 3), "too many"),
        (lambda add: add.enqueue(a=1, c=3), "c: extra"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_by_name(app, tasks, call, part):
    with pytest.raises(InvalidArguments, match=part) as caught:
        await call(tasks.add)
    assert "'add'" in str(caught.value)
    async with app.connection() as connection:
        assert await connection.fetchval("select count(*) from penstock.tasks") == 0


async def test_an_input_over_64_kib_is_refused_with_its_size(app, tasks):
    with pytest.raises(PayloadTooLarge, match=r"70,\d+ bytes.*65,536"):
        await tasks.anything.enqueue("x" * 70_000)


@pytest.mark.parametrize(
    ("value", "part"),
    [("a\0b", "NUL"), (math.nan, "NaN or infinite"), ({"deep": [1, math.inf]}, r"deep\[1\]"), ("\ud800", "surrogate")],
)
async def test_values_that_postgresql_cannot_keep_are_refused(app, tasks, value, part):
    with pytest.raises((NotStorable, InvalidArguments), match=part):
        await tasks.anything.enqueue(value)


@pytest.mark.parametrize("value", ["\ud800", 2**80])
async def test_values_beside_typed_arguments_are_refused_by_the_same_error(app, value):
    @app.task()
    async def dated(when: datetime, note: Any) -> None: ...

    with pytest.raises(NotStorable):
        await dated.enqueue(datetime.now(UTC), {"note": value})


async def test_a_backslash_before_u0000_is_only_text(app, tasks):
    task = await tasks.anything.enqueue("\\u0000 is not a NUL")
    assert (await task.details())["input"] == {"value": "\\u0000 is not a NUL"}


async def test_an_unknown_name_is_refused_and_the_known_ones_are_listed(app, tasks):
    with pytest.raises(UnknownTask, match=r"'nope'.*add, anything, typed"):
        await app.enqueue("nope", {})


async def test_a_task_can_be_enqueued_by_its_name(app, tasks):
    task = await app.enqueue("add", {"a": 1})
    assert await task.state() is State.PENDING
    with pytest.raises(InvalidArguments):
        await app.enqueue("add", {"a": "x"})


async def test_typed_arguments_come_back_as_their_types(app, tasks, working):
    key = uuid4()
    async with working():
        task = await tasks.typed.enqueue(datetime(2026, 11, 15, tzinfo=UTC), key, wait=timedelta(seconds=90))
        assert await task.result(60) == f"2026 {key} 90"


async def test_the_same_idempotency_key_gives_the_same_task(app, tasks):
    first = await tasks.add.options(idempotency_key="k").enqueue(1)
    second = await tasks.add.options(idempotency_key="k").enqueue(2)
    other = await tasks.anything.options(idempotency_key="k").enqueue(1)
    assert (first.created, second.created) == (True, False)
    assert first.id == second.id != other.id


async def test_64_equal_submits_at_once_make_one_task(app, tasks):
    submitted = await asyncio.gather(*(tasks.add.options(idempotency_key="same").enqueue(1) for _ in range(64)))
    assert len({task.id for task in submitted}) == 1
    assert sum(task.created for task in submitted) == 1


async def test_a_unique_key_coalesces_while_the_task_waits_and_not_afterwards(app, tasks, working):
    keyed = tasks.add.options(unique_key="article-7")
    first, second = await keyed.enqueue(1), await keyed.enqueue(2)
    assert first.id == second.id and not second.created
    async with working():
        await first.result(60)
    third = await keyed.enqueue(3)
    assert third.created and third.id != first.id


async def test_a_task_that_runs_does_not_swallow_a_new_one_with_its_unique_key(app, working):
    started, go = asyncio.Event(), asyncio.Event()

    @app.task()
    async def embed(version: int) -> int:
        started.set()
        await go.wait()
        return version

    keyed = embed.options(unique_key="article")
    async with working():
        first = await keyed.enqueue(1)
        await asyncio.wait_for(started.wait(), 60)
        second = await keyed.enqueue(2)
        assert second.created and second.id != first.id
        go.set()
        assert (await first.result(60), await second.result(60)) == (1, 2)


async def test_a_retry_gives_way_to_a_newer_task_with_its_unique_key(app, working):
    started, go = asyncio.Event(), asyncio.Event()

    @app.task()
    async def embed(version: int) -> int:
        if version == 1:
            started.set()
            await go.wait()
            raise ConnectionError("provider away")
        return version

    keyed = embed.options(unique_key="article")
    async with working():
        first = await keyed.enqueue(1)
        await asyncio.wait_for(started.wait(), 60)
        second = await keyed.options(delay=60).enqueue(2)
        go.set()
        state, _, error = await first.wait(60)
        assert state is State.SKIPPED and error["type"] == "Coalesced"
        assert await second.state() is State.PENDING


async def test_a_delayed_task_waits_and_a_date_in_the_past_does_not(app, tasks, working):
    later = await tasks.add.options(delay=3600).enqueue(1)
    past = await tasks.add.options(run_at=datetime(2020, 1, 1, tzinfo=UTC)).enqueue(1)
    async with working():
        assert await past.result(60) == 2
        assert await later.state() is State.PENDING


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"priority": "urgent"}, "high, normal, low"),
        ({"priority": 101}, "-100"),
        ({"delay": -1}, "0 seconds to 10 years"),
        ({"run_at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001 - that is the mistake
        ({"delay": 1, "run_at": datetime(2026, 1, 1, tzinfo=UTC)}, "either"),
        ({"max_attempts": 0}, "1 to 1000"),
        ({"timeout": 0}, "above 0"),
        ({"idempotency_key": ""}, "1 to 500"),
        ({"lane": "a\0b"}, "NUL"),
    ],
)
async def test_a_wrong_option_is_refused_with_its_value(app, tasks, options, part):
    with pytest.raises(InvalidSetting, match=part):
        await tasks.add.options(**options).enqueue(1)


@pytest.mark.parametrize("count", [1, 999, 1_001, 5_000, 26_000])
async def test_many_tasks_become_one_job_with_every_row_once(app, tasks, count):
    job = await tasks.add.enqueue_many(({"a": number} for number in range(count)), name="import")
    assert job.count == count
    assert (await job.counts()).total == count
    async with app.connection() as connection:
        found = await connection.fetchval(
            "select count(distinct input ->> 'a') from penstock.tasks t join penstock.queue q on q.task_id = t.id"
            " where t.job_id = $1",
            job.id,
        )
    assert found == count


async def test_one_bad_row_stores_none_of_them(app, tasks):
    rows = [{"a": 1}] * 2_000 + [{"a": "x"}]
    with pytest.raises(InvalidArguments):
        await tasks.add.enqueue_many(rows)
    async with app.connection() as connection:
        assert await connection.fetchval("select count(*) from penstock.tasks") == 0
        assert await connection.fetchval("select count(*) from penstock.jobs") == 0


async def test_a_job_with_the_same_idempotency_key_is_stored_once(app, tasks):
    keyed = tasks.add.options(idempotency_key="file-1")
    first = await keyed.enqueue_many([{"a": 1}])
    second = await keyed.enqueue_many([{"a": 1}, {"a": 2}])
    assert (second.id, second.created, second.count) == (first.id, False, 0)
    assert (await second.counts()).total == 1


async def test_a_job_can_be_added_to(app, tasks):
    job = await tasks.add.enqueue_many([{"a": 1}])
    await tasks.add.options(job=job).enqueue_many([{"a": 2}, {"a": 3}])
    await tasks.add.options(job=job).enqueue(4)
    assert (await job.counts()).total == 4


async def test_nothing_is_added_to_a_cancelled_job(app, tasks):
    job = await tasks.add.enqueue_many([{"a": 1}])
    await job.cancel()
    with pytest.raises(UsageError, match="cancelled"):
        await tasks.add.options(job=job).enqueue(2)


async def test_two_tasks_of_one_name_are_refused(app):
    app.task(name="twice")(lambda: None)
    with pytest.raises(InvalidDefinition, match="another one of that name"):
        app.task(name="twice")(lambda: None)


async def test_a_generator_cannot_be_a_task(app):
    def numbers():
        yield 1

    with pytest.raises(InvalidDefinition, match="generator"):
        app.task()(numbers)


async def test_a_database_without_the_schema_says_to_migrate(bare_url):
    from penstock.config import load

    empty = Penstock(settings=load(database_url=bare_url))
    with pytest.raises(SchemaOutOfDate, match="penstock migrate"):
        await empty.open()


async def test_a_task_is_enqueued_from_sql(app, tasks, working, database_url):
    await app.open()
    outside = await asyncpg.connect(database_url)
    row = await outside.fetchrow("select * from penstock.enqueue('add', '{\"a\": 41}', priority => -10)")
    with pytest.raises(asyncpg.PostgresError, match="No task or pipeline is called"):
        await outside.execute("select penstock.enqueue('nope')")
    with pytest.raises(asyncpg.PostgresError, match="bytes of JSON"):
        await outside.execute("select penstock.enqueue('add', to_jsonb(repeat('x', 70000)))")
    await outside.close()
    async with working():
        assert await app.task_by_id(row["task_id"]).result(60) == 42


async def test_unique_keys_of_two_tasks_never_meet(app):
    @app.task(name="mail")
    async def mail():
        return None

    @app.task(name="mail:bulk")
    async def bulk():
        return None

    first = await mail.options(unique_key="bulk:7").enqueue()
    second = await bulk.options(unique_key="7").enqueue()
    assert second.created
    assert first.id != second.id


@pytest.mark.parametrize(
    "options",
    [
        {"delay": math.nan},
        {"delay": math.inf},
        {"delay": 1e15},
        {"timeout": 1e300},
        {"timeout": math.nan},
        {"idempotency_key": "\ud800"},
        {"trace": "a\0b"},
        {"job": 10**30},
    ],
)
async def test_an_option_out_of_bounds_is_one_sentence(app, tasks, options):
    with pytest.raises(InvalidSetting):
        await tasks.add.options(**options).enqueue(1)
