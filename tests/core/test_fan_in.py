"""A job calls back once, when its last task has ended: with the right counts, and not a moment earlier."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from pydantic import BaseModel

from penstock import Context, NotFound, Penstock, Skip, State
from penstock.errors import InvalidArguments, PayloadTooLarge, PermanentError, UsageError
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.insight import job_views
from penstock.lifecycle import JobState
from penstock.storage import callbacks
from penstock.testing import drain, inline
from penstock.upkeep.firing import FanIn


class World:
    """A task that ends as it is told, and one that is called back and remembers with what."""

    def __init__(self, app: Penstock) -> None:
        self.app = app
        self.calls: list[dict[str, Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()

        @app.task(max_attempts=1)
        async def work(how: str = "done") -> str:
            await self.gate.wait()
            match how:
                case "error":
                    raise PermanentError("as asked")
                case "not_found":
                    return NotFound("as asked")
                case "skip":
                    return Skip("as asked")
            return how

        @app.task()
        async def report(ctx: Context, job: int, counts: dict[str, int], label: str = "") -> str:
            self.calls.append({"job": job, "counts": counts, "label": label, "task": ctx.task_id})
            return label

        self.work, self.report = work, report

    async def shown(self, job_id: int) -> job_views.JobDetails:
        async with self.app.connection() as connection:
            return await job_views.show(connection, job_id)

    async def called(self, job_id: int) -> callbacks.Callback:
        async def found() -> callbacks.Callback | None:
            callback = (await self.shown(job_id)).callback
            return callback if callback is not None and callback.called_back_at else None

        return await eventually(found, what=f"the callback of job {job_id}")


async def eventually(condition: Callable[[], Awaitable[Any]], *, what: str, seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (answer := await condition()):
        assert time.monotonic() < deadline, f"{what} did not come within {seconds:g} s"
        await asyncio.sleep(0.02)
    return answer


@pytest.fixture
def world(app: Penstock) -> World:
    return World(app)


def duty(*, failpoints: str = "") -> FanIn:
    return FanIn(events=Events(), failpoints=Failpoints(failpoints))


async def end_all(connection: asyncpg.Connection, job_id: int, status: int = 2) -> None:
    """Every waiting task of the job ends, as a settle writes it."""
    await connection.execute(
        """
        with gone as (
            delete from penstock.queue q using penstock.lanes l where l.id = q.lane and l.job_id = $1
            returning q.task_id, q.lane, q.stage
        ), ended as (
            insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run)
            select task_id, $1, lane, stage, $2, 1, 1 from gone
        )
        insert into penstock.counts (lane, stage, state, n) select lane, stage, $2, count(*) from gone group by 1, 2
        """,
        job_id,
        status,
    )


async def callback_tasks(connection: asyncpg.Connection, name: str = "report") -> int:
    count: int = await connection.fetchval(
        "select count(*) from penstock.tasks t join penstock.stages s on s.id = t.entry where s.pipeline = $1", name
    )
    return count


async def test_a_job_calls_back_once_with_its_counts(world: World, working: Callable[..., Any]) -> None:
    ways = ["done"] * 5 + ["error", "not_found", "not_found", "skip"]
    async with working():
        job = await world.work.enqueue_many(
            [{"how": how} for how in ways], then=world.report, then_arguments={"label": "spring"}
        )
        called = await world.called(job.id)
        assert await world.app.task_by_id(called.task_id).result(60) == "spring"
    counts = {"total": 9, "done": 5, "error": 1, "not_found": 2, "skipped": 1, "cancelled": 0}
    assert world.calls == [{"job": job.id, "counts": counts, "label": "spring", "task": called.task_id}]
    assert called.pipeline == "report"
    # The callback is no task of the job: its counts stay those of the rows.
    assert (await job.counts()).total == 9
    assert await job.state() is JobState.FAILED


async def test_nothing_is_called_while_one_task_still_runs(
    world: World, working: Callable[..., Any], connection: asyncpg.Connection
) -> None:
    world.gate.clear()
    async with working():
        job = await world.work.enqueue_many([{}] * 3, then=world.report)

        async def all_run() -> bool:
            return (await job.counts()).processing == 3

        await eventually(all_run, what="three running tasks")
        assert await duty().run_once(connection) == {"called": 0, "failed": 0, "postponed": 0}
        assert await callback_tasks(connection) == 0
        world.gate.set()
        await world.called(job.id)


async def test_all_stages_of_a_pipeline_have_to_be_behind_every_task(
    app: Penstock, connection: asyncpg.Connection, working: Callable[..., Any]
) -> None:
    world, late = World(app), asyncio.Event()
    pipe = app.pipeline("pipe")

    @pipe.stage("one")
    async def one(n: int) -> int:
        return n

    @pipe.stage("two")
    async def two(n: int) -> int:
        await late.wait()
        return n

    async with working():
        job = await pipe.enqueue_many([{"n": n} for n in range(4)], then=world.report)

        async def at_the_second() -> bool:
            steps = (await world.shown(job.id)).steps.steps
            return steps[1].waiting + steps[1].running == 4

        await eventually(at_the_second, what="all tasks at the second stage")
        await duty().run_once(connection)
        assert await callback_tasks(connection) == 0
        late.set()
        called = await world.called(job.id)
        await app.task_by_id(called.task_id).result(60)
    assert world.calls[0]["counts"]["total"] == world.calls[0]["counts"]["done"] == 4


async def test_an_empty_job_calls_back_at_once_and_is_done(world: World, connection: asyncpg.Connection) -> None:
    job = await world.work.enqueue_many([], then=world.report)
    assert await job.state() is JobState.QUEUED
    assert (await duty().run_once(connection))["called"] == 1
    assert await job.state() is JobState.DONE
    text = await connection.fetchval("select input ->> 'counts' from penstock.tasks order by id desc limit 1")
    assert '"total": 0' in text


async def test_a_task_that_runs_again_later_does_not_call_back_again(
    world: World, connection: asyncpg.Connection, working: Callable[..., Any]
) -> None:
    async with working():
        job = await world.work.enqueue_many([{}, {"how": "error"}], then=world.report)
        await world.called(job.id)
        assert await job.reprocess(statuses=[State.ERROR, State.DONE]) == 2

        async def ended_again() -> bool:
            return (await job.counts()).finished == 2 and await connection.fetchval(
                "select min(run) from penstock.outcomes where job_id = $1", job.id
            ) == 2

        await eventually(ended_again, what="the second end of both tasks")
    await duty().run_once(connection)
    assert await callback_tasks(connection) == 1


async def test_a_cancelled_job_calls_back_with_what_was_cancelled(
    world: World, connection: asyncpg.Connection, working: Callable[..., Any]
) -> None:
    job = await world.work.enqueue_many([{}] * 7, then=world.report)
    await job.cancel()
    await duty().run_once(connection)
    assert await callback_tasks(connection) == 0, "its rows are not ended yet"
    async with working():
        called = await world.called(job.id)
        await world.app.task_by_id(called.task_id).result(60)
    assert world.calls[0]["counts"] == {
        "total": 7,
        "done": 0,
        "error": 0,
        "not_found": 0,
        "skipped": 0,
        "cancelled": 7,
    }


async def test_a_deleted_job_calls_nobody(world: World, connection: asyncpg.Connection) -> None:
    job = await world.work.enqueue_many([{}], then=world.report)
    await end_all(connection, job.id)
    await job.delete()
    assert (await duty().run_once(connection))["called"] == 0
    assert await callback_tasks(connection) == 0


@pytest.mark.parametrize(("state", "calls"), [("waiting", 0), ("storing", 0), ("stored", 1), ("failed", 1)])
async def test_a_job_whose_file_is_still_read_has_not_ended(
    world: World, connection: asyncpg.Connection, state: str, calls: int
) -> None:
    job = await world.work.enqueue_many([{}], then=world.report)
    await end_all(connection, job.id)
    await connection.execute(
        "insert into penstock.imports (job_id, file_id, kind, shape, state) values ($1, 1, 'csv', '{}', $2)",
        job.id,
        state,
    )
    assert (await duty().run_once(connection))["called"] == calls


async def test_rows_that_an_import_stores_at_this_moment_are_waited_for(
    world: World, connection: asyncpg.Connection, database_url: str
) -> None:
    job = await world.work.enqueue_many([{}], then=world.report)
    await end_all(connection, job.id)
    await connection.execute(
        "insert into penstock.imports (job_id, file_id, kind, shape) values ($1, 1, 'csv', '{}')", job.id
    )
    storing = await asyncpg.connect(database_url)
    transaction = storing.transaction()
    await transaction.start()
    await storing.execute("update penstock.imports set rows_stored = 1, state = 'storing' where job_id = $1", job.id)
    await world.work.options(job=job).enqueue_many([{}], connection=storing)
    await job.cancel()
    await connection.execute("set lock_timeout = '100ms'")
    assert (await duty().run_once(connection))["postponed"] == 1
    await transaction.commit()
    assert (await duty().run_once(connection))["called"] == 0, "the row that came is not ended yet"
    await storing.close()


async def test_two_that_race_call_back_once(world: World, connection: asyncpg.Connection, database_url: str) -> None:
    jobs = [await world.work.enqueue_many([{}], then=world.report) for _ in range(20)]
    for job in jobs:
        await end_all(connection, job.id)
    others = [await asyncpg.connect(database_url) for _ in range(4)]
    told = await asyncio.gather(*(duty().run_once(one) for one in others))
    assert sum(one["called"] for one in told) == 20
    assert await callback_tasks(connection) == 20
    for one in others:
        await one.close()


async def gone(connection: asyncpg.Connection, process: int) -> None:
    """The server notices a cut connection when it reads from it; until then its transaction holds what it locked."""

    async def left() -> bool:
        return not await connection.fetchval("select count(*) from pg_stat_activity where pid = $1", process)

    await eventually(left, what="the end of the cut transaction")


async def test_a_lost_connection_before_the_commit_leaves_nothing_and_is_made_good(
    world: World, connection: asyncpg.Connection, database_url: str
) -> None:
    job = await world.work.enqueue_many([{}], then=world.report)
    await end_all(connection, job.id)
    for point in ("before_fan_in", "during_fan_in"):
        cut = await asyncpg.connect(database_url)
        process = cut.get_server_pid()
        with pytest.raises((ConnectionResetError, asyncpg.InterfaceError)):
            await duty(failpoints=f"{point}:drop_connection:1").run_once(cut)
        await gone(connection, process)
        assert await callback_tasks(connection) == 0
    assert (await duty().run_once(connection))["called"] == 1
    assert (await duty().run_once(connection))["called"] == 0
    assert (await world.shown(job.id)).callback.task_id is not None


async def test_thousands_of_unfinished_jobs_do_not_hide_a_finished_one(
    world: World, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.upkeep.firing._BATCH", 5)
    monkeypatch.setattr("penstock.upkeep.firing._BATCHES_PER_RUN", 2)
    jobs = [await world.work.enqueue_many([{}], then=world.report) for _ in range(25)]
    await end_all(connection, jobs[-1].id)
    looking = duty()
    assert [(await looking.run_once(connection))["called"] for _ in range(3)] == [0, 0, 1]
    await end_all(connection, jobs[0].id)
    assert (await looking.run_once(connection))["called"] == 1, "it begins at the front again"


async def test_a_callback_that_cannot_be_enqueued_is_told_once_and_left(
    world: World, connection: asyncpg.Connection
) -> None:
    job = await world.work.enqueue_many([], then=world.report)
    await connection.execute("update penstock.jobs set callback = jsonb_set(callback, '{pipeline}', '\"gone\"')")
    assert (await duty().run_once(connection))["failed"] == 1
    assert (await duty().run_once(connection)) == {"called": 0, "failed": 0, "postponed": 0}
    callback = (await world.shown(job.id)).callback
    assert callback.problem == 'No task or pipeline is called "gone".'
    assert callback.task_id is None


async def test_arguments_are_checked_when_the_job_is_stored_and_nothing_is_stored_if_they_are_wrong(
    world: World, connection: asyncpg.Connection
) -> None:
    with pytest.raises(InvalidArguments, match="label"):
        await world.work.enqueue_many([{}], then=world.report, then_arguments={"label": 5})
    with pytest.raises(InvalidArguments, match="colour"):
        await world.work.enqueue_many([{}], then=world.report, then_arguments={"colour": "red"})
    with pytest.raises(PayloadTooLarge, match="callback 'report'"):
        await world.work.enqueue_many([{}], then=world.report, then_arguments={"label": "x" * 65_000})
    with pytest.raises(UsageError, match="then = 'report' is no task"):
        await world.work.enqueue_many([{}], then="report")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="without a task"):
        await world.work.enqueue_many([{}], then_arguments={"label": "x"})
    for options in ({"idempotency_key": "k"}, {"job": 1}):
        with pytest.raises(UsageError, match="enqueued once for it"):
            await world.work.enqueue_many([{}], then=world.report.options(**options))
    assert await connection.fetchval("select count(*) from penstock.jobs") == 0
    assert await connection.fetchval("select count(*) from penstock.tasks") == 0


async def test_job_and_counts_are_passed_to_those_who_ask_in_the_shape_they_name(
    app: Penstock, connection: asyncpg.Connection, working: Callable[..., Any]
) -> None:
    seen: list[Any] = []

    class Totals(BaseModel):
        total: int
        done: int

    @app.task()
    async def row(n: int) -> int:
        return n

    @app.task()
    async def asks_nothing() -> None:
        seen.append("nothing")

    @app.task()
    async def asks_for_a_model(counts: Totals) -> None:
        seen.append(counts)

    @app.task()
    async def own_job(job: str) -> None:
        seen.append(job)

    async with working():
        for then, arguments in ((asks_nothing, {}), (asks_for_a_model, {}), (own_job, {"job": "mine"})):
            await row.enqueue_many([{"n": 1}, {"n": 2}], then=then, then_arguments=arguments)

        async def all_called() -> bool:
            return len(seen) == 3

        await eventually(all_called, what="three callbacks")
    assert "nothing" in seen
    assert "mine" in seen
    assert Totals(total=2, done=2) in seen
    with pytest.raises(InvalidArguments, match="job"):
        await row.enqueue_many([{"n": 1}], then=own_job)


async def test_options_of_the_callback_travel_with_it(world: World, connection: asyncpg.Connection) -> None:
    chosen = world.report.options(priority="high", lane="reports", delay=600, max_attempts=7, timeout=33)
    await world.work.options(owner="ann").enqueue_many([], then=chosen)
    await duty().run_once(connection)
    row = await connection.fetchrow(
        """
        select t.owner, t.options ->> 'timeout_seconds' as timeout, q.max_attempts, l.key, l.priority,
               q.run_at > now() + interval '9 minutes' as later
        from penstock.tasks t join penstock.queue q on q.task_id = t.id join penstock.lanes l on l.id = q.lane
        """
    )
    assert dict(row) == {
        "owner": "ann",
        "timeout": "33.0",
        "max_attempts": 7,
        "key": "reports",
        "priority": -10,
        "later": True,
    }


async def test_a_job_that_is_stored_in_pieces_says_its_callback_with_the_last(
    world: World, connection: asyncpg.Connection
) -> None:
    job = await world.work.enqueue_many([{}])
    await end_all(connection, job.id)
    await world.work.options(job=job).enqueue_many([{}], then=world.report)
    assert (await duty().run_once(connection))["called"] == 0
    with pytest.raises(UsageError, match="has a callback already"):
        await world.work.options(job=job).enqueue_many([{}], then=world.report)
    assert (await job.counts()).total == 2, "the refused call stored no row"
    await end_all(connection, job.id)
    assert (await duty().run_once(connection))["called"] == 1


async def test_the_same_submission_twice_is_one_job_with_one_callback(
    world: World, connection: asyncpg.Connection
) -> None:
    once = world.work.options(idempotency_key="k")
    first = await once.enqueue_many([{}], then=world.report)
    second = await once.enqueue_many([{}], then=world.report)
    assert (first.id, second.created) == (second.id, False)
    await end_all(connection, first.id)
    assert (await duty().run_once(connection))["called"] == 1
    assert await callback_tasks(connection) == 1


async def test_drain_calls_back_for_jobs_that_ended_until_nothing_is_left(app, world):
    @app.task()
    async def again(counts: dict[str, int]) -> None:
        if counts["total"]:
            await world.work.enqueue_many([{}] * (counts["total"] - 1), then=again)
        else:
            await world.work.enqueue_many([{"how": "error"}, {}], then=world.report, then_arguments={"label": "last"})

    job = await world.work.enqueue_many([{}] * 3, then=again)
    drained = await drain(app)
    assert (await job.counts()).done == 3
    assert [call["label"] for call in world.calls] == ["last"]
    assert world.calls[0]["counts"] | {"total": 2, "done": 1, "error": 1} == world.calls[0]["counts"]
    assert (drained.done, drained.failed, drained.waiting) == (3 + 2 + 1 + 1 + 4 + 1, 1, 0)


async def test_drain_calls_back_for_a_job_that_was_cancelled(app, world):
    job = await world.work.enqueue_many([{}] * 3, then=world.report)
    await job.cancel()
    await drain(app)
    assert [call["counts"]["cancelled"] for call in world.calls] == [3]


async def test_a_callback_of_a_later_day_runs_in_a_drain_that_does_not_wait(app, world):
    await world.work.enqueue_many([{}], then=world.report.options(delay=86_400))
    assert (await drain(app)).waiting == 1
    assert world.calls == []
    await drain(app, advance=True)
    assert len(world.calls) == 1


async def test_inside_inline_a_job_has_called_back_when_it_is_enqueued(app, world):
    async with inline(app):
        await world.work.enqueue_many([{}] * 2, then=world.report)
        assert [call["counts"]["done"] for call in world.calls] == [2]
