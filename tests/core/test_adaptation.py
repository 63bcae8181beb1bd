"""What trouble does to a running worker: smaller claims, longer waits, and a status that says why."""

import asyncio
import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock import RetryPolicy
from penstock.adaptation.claims import Decision, Load
from penstock.config import load
from penstock.core.run import decide_error
from penstock.errors import DatabaseFull, DatabaseReadOnly, DatabaseUnavailable
from penstock.events import Events
from penstock.model import Claimed, Release
from penstock.observe.counter import Counter
from penstock.observe.exposition import Exposition, RunnerView
from penstock.workers import adaptation as adapting
from penstock.workers.adaptation import Adaptation

PATIENCE_SECONDS = 60
WANTED = Decision(value=1000, reason="wanted")


class Machine:
    """A machine under a load of our choosing, with one stage."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adapting, "_LOOK_SECONDS", 0.0)
        self.load = Load(cpu=0.0, memory=0.0)
        self.told: list[dict[str, Any]] = []
        self.stage: Any = SimpleNamespace(retry_spacing=1.0)
        self.measured: Any = SimpleNamespace(runs=0, errors=0)
        self.adaptation = Adaptation(
            settings=load(),
            stages={7: self.stage},
            measured={7: self.measured},
            events=Events([lambda event: self.told.append(event.data)]),
            load=lambda: self.load,
        )

    def claim(self) -> Decision[int]:
        self.adaptation.run_once()
        return self.adaptation.shrink(7, WANTED)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_without_trouble_a_claim_is_what_was_wanted(machine):
    assert machine.claim() is WANTED
    assert machine.told == []


def test_a_machine_short_of_memory_claims_little_and_says_so_once(machine):
    machine.load = Load(cpu=0.2, memory=0.98)
    first, second = machine.claim(), machine.claim()
    assert first.value == second.value == 280
    assert first.reason == "wanted; × 0.28: 98% of the memory is in use"
    assert [one["reason"] for one in machine.told] == ["98% of the memory is in use"]
    machine.load = Load(cpu=0.2, memory=0.3)
    for _ in range(10):
        last = machine.claim()
    assert last is WANTED
    assert machine.told[-1]["factor"] == 1.0


def test_a_lack_of_cpus_shortens_the_slice_and_leaves_the_number_alone(machine):
    machine.load = Load(cpu=1.0, memory=0.1)
    claim = machine.claim()
    assert claim.value == WANTED.value
    assert claim.reason == "wanted; slice × 0.50: processes wait for a CPU 100% of the time"
    assert machine.adaptation.slice_ms == 2500
    assert [one["cause"] for one in machine.told] == ["cpu"]


def test_runs_that_fail_shrink_the_claim_of_their_stage_and_space_its_retries(machine):
    machine.measured.runs = machine.measured.errors = 200
    assert machine.claim().value < 600
    assert machine.stage.retry_spacing > 2.5
    assert machine.told[0]["stage"] == 7 and "of the last runs failed" in machine.told[0]["reason"]
    machine.measured.runs = 500
    assert machine.claim() is WANTED
    assert machine.stage.retry_spacing == 1.0
    assert machine.told[-1]["reason"] == "few errors"


def test_no_claim_falls_below_the_least(machine):
    machine.load = Load(cpu=1.0, memory=1.0)
    machine.measured.runs = machine.measured.errors = 10_000
    machine.adaptation.run_once()
    assert machine.adaptation.shrink(7, Decision(value=20, reason="few")).value == load().claim_min


def test_the_machine_is_asked_once_a_second_however_many_claims_there_are(monkeypatch):
    now, asked = 1000.0, []
    monkeypatch.setattr(adapting, "time", SimpleNamespace(monotonic=lambda: now))

    def noted() -> Load:
        asked.append(now)
        return Load(cpu=0.0, memory=0.0)

    adaptation = Adaptation(settings=load(), stages={}, measured={}, events=Events(), load=noted)
    for step in range(32):
        now = 1000.0 + step / 8
        adaptation.run_once()
    assert asked == [1000.0, 1001.0, 1002.0, 1003.0]


@pytest.mark.parametrize(("cap_seconds", "delay_seconds"), [(3600.0, 4.0), (3.0, 3.0), (0.5, 0.5)])
def test_a_spaced_retry_waits_longer_and_not_beyond_the_cap(cap_seconds, delay_seconds):
    policy = RetryPolicy(base_seconds=1, jitter=0, cap_seconds=cap_seconds)
    stage: Any = SimpleNamespace(definition=SimpleNamespace(retry=policy))
    settlement = decide_error(Claimed.of(task_id=1, lease=1), stage, ConnectionError("away"), 4.0)
    assert isinstance(settlement, Release)
    assert settlement.delay_seconds == delay_seconds


@pytest.mark.parametrize(
    "error", [DatabaseUnavailable(what="away", next_step="Wait."), DatabaseReadOnly(), DatabaseFull(what="disk")]
)
def test_a_database_that_cannot_answer_a_handler_burns_no_attempt_and_is_given_more_time_each_time(error):
    stage: Any = SimpleNamespace(
        definition=SimpleNamespace(retry=RetryPolicy(base_seconds=1, jitter=0)), retry_spacing=1
    )
    delays = []
    for rescues in range(4):
        settlement = decide_error(Claimed.of(task_id=1, lease=1, rescues=rescues), stage, error)
        assert isinstance(settlement, Release)
        assert (settlement.cause, settlement.burned) == ("database", False)
        delays.append(settlement.delay_seconds)
    assert delays == [1, 2, 4, 8]


async def test_a_stage_whose_runs_fail_shows_it_in_the_status_that_the_fleet_sees(app, working, heard):
    @app.task(retry=RetryPolicy(base_seconds=600))
    async def always_away(n: int) -> None:
        raise ConnectionError("away")

    async def status() -> dict[str, Any]:
        async with app.connection() as connection:
            return json.loads(await connection.fetchval("select status from penstock.workers order by id desc limit 1"))

    async with working():
        await always_away.enqueue_many({"n": n} for n in range(400))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (seen := (await status()).get("stages", {}).get("always_away", {})).get("errors_factor", 1.0) == 1.0:
                await asyncio.sleep(0.05)
            while not heard.named("claims.adapted"):
                await asyncio.sleep(0.05)
    assert seen["retry_spacing"] > 1
    assert "of the last runs failed" in seen["claim"]["reason"]


async def test_what_the_controllers_decided_can_be_scraped():
    seen = {
        "inbox": 0,
        "processors": {},
        "claim": {"size": 120, "reason": "…"},
        "cpu_factor": 0.5,
        "memory_factor": 0.9,
        "errors_factor": 1.0,
        "retry_spacing": 1.5,
    }
    runner = RunnerView(worker=3, status={"stages": {"mail": seen}}, ready=True, told_at=time.monotonic())

    def connect() -> Any:
        raise ConnectionError("no database here")

    exposition = Exposition(counter=Counter(), connect=connect, runners=lambda: [runner])
    families = text_string_to_metric_families((await exposition.render()).decode())
    found = {(one.name, one.labels.get("cause")): one.value for family in families for one in family.samples}
    assert found["penstock_claim_size", None] == 120
    assert found["penstock_claim_factor", "cpu"] == 0.5
    assert found["penstock_claim_factor", "memory"] == 0.9
    assert found["penstock_claim_factor", "errors"] == 1.0
    assert found["penstock_retry_spacing", None] == 1.5


async def test_a_worker_holds_no_more_than_it_decided_to_however_often_it_polls(app, working):
    @app.task(pool=4)
    async def slow(n: int) -> None:
        await asyncio.sleep(0.2)

    app.use(app.settings.model_copy(update={"poll_min_seconds": 0.01, "poll_max_seconds": 0.02}), app.events)
    job = await slow.enqueue_many({"n": n} for n in range(3000))
    most = largest_claim = 0
    async with working(upkeep=False) as worker:
        while (await job.counts()).done < 60:
            status = worker.runner.status()
            most = max(most, status["held"])
            largest_claim = max(largest_claim, status["stages"]["slow"]["claim"]["size"])
            await asyncio.sleep(0.01)
    # 5 s of work for four processors is about 70 tasks, fewer on a slow machine, which decides on less while it still
    # holds more. A poll that is taken for a hint adds ten each time.
    assert largest_claim <= 100
    assert most <= 2 * largest_claim + 4
