"""`tasks why`: every reason, told from a real database."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from penstock.errors import TaskNotFound
from penstock.insight.why import Reason, Why, explain
from penstock.lifecycle import State
from penstock.model import Finish, Release
from penstock.storage import jobs, lanes, limits, queue, relay, stages, tasks, workers
from penstock.storage.queue import LaneClaim
from penstock.storage.stages import Declared
from penstock.storage.tasks import NewTask

LABEL = "mail"


class World:
    """A database with one pipeline, and the few moves the reasons need."""

    def __init__(self, connection: asyncpg.Connection, stage: int) -> None:
        self.connection = connection
        self.stage = stage

    async def enqueue(self, **options: Any) -> int:
        task_id, _ = await tasks.enqueue(self.connection, NewTask(pipeline="mail", input="{}", **options))
        return task_id

    async def worker(
        self,
        *,
        lease_seconds: float = 60.0,
        busy: int = 0,
        idle: int = 10,
        alone: int | None = None,
        **told: Any,
    ) -> int:
        worker = await workers.register(
            self.connection, supervisor=uuid4(), name="host-7", stages=[self.stage], lease_seconds=lease_seconds
        )
        of_stage = {"processors": {"idle": idle, "busy": busy, "error": 0}, **told}
        status = {"stages": {LABEL: of_stage}, "alone": alone}
        await workers.heartbeat(
            self.connection, [workers.Heartbeat(worker=worker, running=[], status=status)], lease_seconds
        )
        return worker

    async def claim(self, worker: int, count: int = 1) -> list[Any]:
        lane_ids = [row["id"] for row in await self.connection.fetch("select id from penstock.lanes order by id")]
        return await queue.claim(
            self.connection, [LaneClaim(self.stage, lane, count) for lane in lane_ids], count, worker
        )

    async def release(self, worker: int, claimed: Any, cause: str, delay_seconds: float, **more: Any) -> None:
        one = Release(
            task_id=claimed.task_id,
            lease=claimed.lease,
            stage=self.stage,
            cause=cause,
            delay_seconds=delay_seconds,
            **more,
        )
        await queue.release(self.connection, worker, [one], crash_limit=3, rescue_limit=10)

    async def why(self, task_id: int) -> Why:
        return await explain(self.connection, task_id)


@pytest.fixture
async def world(connection: asyncpg.Connection) -> World:
    ids = await stages.register(
        connection, "mail", [Declared(name="mail", position=0, max_attempts=3, max_running=None, policy="{}")]
    )
    return World(connection, ids["mail"])


async def test_an_unknown_task_is_not_found(world: World) -> None:
    with pytest.raises(TaskNotFound):
        await world.why(999)


async def test_a_finished_task_says_how_and_when_it_ended(world: World) -> None:
    task_id = await world.enqueue()
    worker = await world.worker()
    [claimed] = await world.claim(worker)
    error = '{"type": "ValueError", "message": "no such address"}'
    await queue.finish(
        world.connection, worker, [Finish(task_id, claimed.lease, world.stage, State.ERROR, None, error)]
    )
    why = await world.why(task_id)
    assert (why.reason, why.state) == (Reason.FINISHED, State.ERROR)
    assert why.sentence.startswith("It ended ERROR 0.")
    assert "ValueError: no such address" in why.sentence
    assert why.next_step is not None
    for what in ("show", "replay", "edit"):
        assert f"`penstock dead-letters {what} {task_id}`" in why.next_step


async def test_a_running_task_names_its_worker_and_its_try(world: World) -> None:
    task_id = await world.enqueue()
    await world.claim(await world.worker())
    why = await world.why(task_id)
    assert (why.reason, why.state) == (Reason.RUNNING, State.PROCESSING)
    assert "host-7" in why.sentence
    assert "try 1 of 3" in why.sentence


async def test_a_running_task_that_was_cancelled_is_stopping(world: World) -> None:
    task_id = await world.enqueue()
    await world.claim(await world.worker())
    await queue.cancel(world.connection, task_id, "ann")
    assert (await world.why(task_id)).reason is Reason.STOPPING


async def test_a_task_of_a_lost_worker_waits_for_the_rescue(world: World) -> None:
    task_id = await world.enqueue()
    await world.claim(await world.worker(lease_seconds=-1))
    assert (await world.why(task_id)).reason is Reason.WORKER_LOST


async def test_a_task_in_a_cancelled_lane_reads_as_cancelled(world: World) -> None:
    task_id = await world.enqueue(lane="news")
    await lanes.cancel(world.connection, "mail", "news", "ann")
    why = await world.why(task_id)
    assert (why.reason, why.state) == (Reason.CANCELLED, State.CANCELLED)
    assert "by ann" in why.sentence


async def test_a_paused_stage_says_who_and_why(world: World) -> None:
    task_id = await world.enqueue()
    await stages.pause(world.connection, "mail", None, "ann", "the relay is down")
    why = await world.why(task_id)
    assert why.reason is Reason.STAGE_PAUSED
    assert "by ann" in why.sentence
    assert "the relay is down" in why.sentence
    assert why.next_step == "`penstock stages resume mail`"


async def test_a_paused_lane_is_named(world: World) -> None:
    task_id = await world.enqueue(lane="news")
    await lanes.pause(world.connection, "mail", "news", by="ann", reason=None)
    why = await world.why(task_id)
    assert why.reason is Reason.LANE_PAUSED
    assert "'news'" in why.sentence


async def test_a_paused_job_is_named_as_the_job(world: World) -> None:
    job = await world.connection.fetchval("insert into penstock.jobs (pipeline) values ('mail') returning id")
    task_id = await world.enqueue(job_id=job)
    await jobs.pause(world.connection, job, "ann", "wrong file")
    why = await world.why(task_id)
    assert why.reason is Reason.JOB_PAUSED
    assert f"Job {job} is paused by ann" in why.sentence
    assert "wrong file" in why.sentence


async def test_a_retry_says_which_try_when_and_after_what(world: World) -> None:
    task_id = await world.enqueue()
    worker = await world.worker()
    [claimed] = await world.claim(worker)
    delay_seconds = 41 * 3600
    await world.release(
        worker, claimed, "retry", delay_seconds, burned=True, error='{"type": "HTTPError", "message": "502"}'
    )
    why = await world.why(task_id)
    assert why.reason is Reason.RETRY
    assert why.sentence == "It waits for try 2 of 3 in 41 h, after HTTPError: 502."
    assert why.until is not None
    assert delay_seconds - 600 < (why.until - why.read_at).total_seconds() <= delay_seconds


async def test_a_snoozed_task_says_until_when(world: World) -> None:
    task_id = await world.enqueue()
    worker = await world.worker()
    [claimed] = await world.claim(worker)
    await world.release(worker, claimed, "snooze", 30, error='{"message": "not ready yet"}')
    why = await world.why(task_id)
    assert why.reason is Reason.SNOOZED
    assert "not ready yet" in why.sentence


async def test_a_task_of_another_release_says_which_worker_left_it_and_why(world: World) -> None:
    task_id = await world.enqueue()
    worker = await world.worker()
    [claimed] = await world.claim(worker)
    error = '{"type": "VersionSkew", "message": "unknown argument \'quality\'"}'
    await world.release(worker, claimed, "version skew", 30, error=error)
    why = await world.why(task_id)
    assert why.reason is Reason.VERSION_SKEW
    assert "its input does not fit mail on worker host-7 (unknown argument 'quality')" in why.sentence


async def test_a_throttled_task_says_that_no_try_was_burned(world: World) -> None:
    task_id = await world.enqueue()
    worker = await world.worker()
    [claimed] = await world.claim(worker)
    await world.release(worker, claimed, "throttled", 30)
    why = await world.why(task_id)
    assert why.reason is Reason.THROTTLED
    assert "no try is burned" in why.sentence


async def test_a_delayed_task_is_scheduled(world: World) -> None:
    task_id = await world.enqueue(delay_seconds=10_800.0)
    why = await world.why(task_id)
    assert why.reason is Reason.SCHEDULED
    assert "due in 3 h" in why.sentence


async def test_without_a_live_worker_it_says_which_one_is_missed(world: World) -> None:
    task_id = await world.enqueue()
    why = await world.why(task_id)
    assert why.reason is Reason.NO_WORKER
    assert "The last one" not in why.sentence
    await world.worker(lease_seconds=-1)
    assert "The last one, host-7, was seen" in (await world.why(task_id)).sentence


async def test_a_used_up_stage_limit_is_the_reason(world: World) -> None:
    worker = await world.worker()
    await world.enqueue()
    await world.claim(worker)
    task_id = await world.enqueue()
    await stages.limit(world.connection, "mail", None, 1)
    why = await world.why(task_id)
    assert why.reason is Reason.STAGE_LIMIT
    assert "1 of 1 run" in why.sentence
    await stages.limit(world.connection, "mail", None, 2)
    assert (await world.why(task_id)).reason is not Reason.STAGE_LIMIT


async def test_a_used_up_lane_limit_is_the_reason(world: World) -> None:
    worker = await world.worker()
    await world.enqueue(lane="news")
    await world.claim(worker)
    task_id = await world.enqueue(lane="news")
    await lanes.configure(world.connection, "mail", "news", set_limit=True, max_running=1)
    assert (await world.why(task_id)).reason is Reason.LANE_LIMIT


async def test_a_closed_limiter_is_the_reason_when_the_last_run_was_throttled(world: World) -> None:
    task_id = await world.enqueue()
    worker = await world.worker()
    [claimed] = await world.claim(worker)
    await world.release(worker, claimed, "throttled", 0, error='{"type": "LimiterBusy", "key": "wikidata"}')
    await limits.penalise(world.connection, "wikidata", 20.0, "HTTP 429")
    why = await world.why(task_id)
    assert why.reason is Reason.LIMITER
    assert "'wikidata'" in why.sentence
    assert "HTTP 429" in why.sentence
    assert why.until is not None


async def test_a_limit_that_was_never_closed_holds_nothing_up(world: World) -> None:
    task_id = await world.enqueue()
    worker = await world.worker()
    [claimed] = await world.claim(worker)
    await world.release(worker, claimed, "throttled", 0, error='{"type": "LimiterBusy", "key": "wikidata"}')
    await world.connection.execute("insert into penstock.limits (key, rate) values ('wikidata', 5)")
    assert (await world.why(task_id)).reason is not Reason.LIMITER


async def test_a_task_behind_others_says_how_many(world: World) -> None:
    await world.worker()
    for _ in range(3):
        await world.enqueue()
    await world.enqueue(priority=-10)
    await world.enqueue(lane="news")
    task_id = await world.enqueue()
    why = await world.why(task_id)
    assert why.reason is Reason.BEHIND
    assert "3 in its own lane and ≈ 1 in lanes of higher priority" in why.sentence
    assert "1 more lanes take turns" in why.sentence


async def test_when_all_processors_are_busy_it_says_so(world: World) -> None:
    await world.worker(busy=10, idle=0)
    task_id = await world.enqueue()
    why = await world.why(task_id)
    assert why.reason is Reason.BUSY
    assert "all 10 processors" in why.sentence


async def test_when_all_workers_run_a_task_alone_it_says_which(world: World) -> None:
    await world.worker(alone=17)
    task_id = await world.enqueue()
    await world.connection.execute("update penstock.queue set run_at = now() - interval '30 seconds'")
    why = await world.why(task_id)
    assert why.reason is Reason.BUSY
    assert "host-7 is running task 17 alone" in why.sentence
    await world.worker()
    assert (await world.why(task_id)).reason is Reason.OVERLOOKED, "another one could take it"


async def test_otherwise_it_is_due(world: World) -> None:
    await world.worker()
    task_id = await world.enqueue()
    assert (await world.why(task_id)).reason is Reason.DUE


async def test_a_task_that_is_due_for_long_while_workers_rest_is_overlooked(world: World) -> None:
    await world.worker()
    task_id = await world.enqueue()
    await world.connection.execute("update penstock.queue set run_at = now() - interval '3 hours'")
    why = await world.why(task_id)
    assert why.reason is Reason.OVERLOOKED
    assert "due for 3 h" in why.sentence


BY_REDIS = {"transport": "redis", "bypassed": False, "silent_seconds": 0.5, "away_seconds": 0.0}


async def test_a_broker_that_is_away_is_the_reason_while_workers_wait_for_it(world: World) -> None:
    await world.worker(**{**BY_REDIS, "away_seconds": 4.0, "problem": "The broker redis refuses: no."})
    await world.enqueue()
    why = await world.why(await world.enqueue())
    assert why.reason is Reason.BROKER_AWAY
    assert "not announced yet, because redis has been away for 4.0 s: The broker redis refuses: no." in why.sentence
    assert "PENSTOCK_BROKER_PATIENCE_SECONDS" in (why.next_step or "")


async def test_a_task_that_nobody_relays_says_so(world: World) -> None:
    await world.worker(**BY_REDIS)
    task_id = await world.enqueue()
    why = await world.why(task_id)
    assert why.reason is Reason.NO_RELAY
    assert "nobody relays to redis" in why.sentence
    await relay.hold(world.connection, "redis", uuid4(), 60.0)
    why = await world.why(task_id)
    assert (why.reason, "announces it to redis" in why.sentence) == (Reason.DUE, True)


async def test_a_task_that_was_announced_and_not_taken_says_since_when(world: World) -> None:
    await world.worker(**BY_REDIS)
    task_id = await world.enqueue()
    await world.connection.execute("update penstock.queue set sent_at = now() - interval '3 hours'")
    why = await world.why(task_id)
    assert why.reason is Reason.ANNOUNCED
    assert "announced to redis 3 h ago, and no worker has taken it" in why.sentence


async def test_a_relay_that_passes_a_task_by_is_noticed(world: World) -> None:
    await world.worker(**BY_REDIS)
    task_id = await world.enqueue()
    await relay.hold(world.connection, "redis", uuid4(), 60.0)
    await world.connection.execute("update penstock.queue set run_at = now() - interval '3 hours'")
    why = await world.why(task_id)
    assert why.reason is Reason.NOT_ANNOUNCED
    assert "due for 3 h" in why.sentence


async def test_a_stage_that_is_claimed_past_its_broker_says_why(world: World) -> None:
    await world.worker(**{**BY_REDIS, "bypassed": True, "silent_seconds": 40.0})
    why = await world.why(await world.enqueue())
    assert why.reason is Reason.DUE
    assert "claimed from PostgreSQL meanwhile, because nothing came from redis for 40 s." in why.sentence


async def test_a_worker_that_claims_from_postgresql_makes_the_broker_no_reason(world: World) -> None:
    await world.worker(**{**BY_REDIS, "away_seconds": 4.0})
    await world.worker(transport="postgres")
    why = await world.why(await world.enqueue())
    assert (why.reason, "redis" in why.sentence) == (Reason.DUE, False)


async def test_every_reason_has_a_test_above() -> None:
    text = Path(__file__).read_text("utf-8")
    missing = [reason.name for reason in Reason if f"Reason.{reason.name}" not in text]
    assert missing == []
