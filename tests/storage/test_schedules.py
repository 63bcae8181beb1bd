"""Schedules on real PostgreSQL: one task per fire time, whoever runs, dies, or looks at a wrong clock."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.control import schedules as steering
from penstock.errors import InvalidDefinition, NotKnown, UnknownTask, UsageError
from penstock.events import NAMES, Event, Events
from penstock.failpoints import FailpointHit, Failpoints
from penstock.schedules import fire_times, scheduling
from penstock.schedules.scheduling import ScheduleDefinition, fire_key, plan
from penstock.storage import schedules, stages
from penstock.storage.database import translated
from penstock.storage.stages import Declared
from penstock.upkeep import firing as duty_module
from penstock.upkeep.firing import Schedules
from tests.unit.test_schedule import CHANGES, brute_force, crons

# Found before pg_catalog's on the search path, so every `now()` in a statement is the test's.
_CLOCK = """
create schema clock;
create function clock.now() returns timestamptz stable language sql
    as $$ select current_setting('clock.now')::timestamptz $$;
"""
START = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Clock:
    """Sets the database's time, for the connections it was given."""

    def __init__(self, connections: Sequence[asyncpg.Connection]) -> None:
        self.connections = connections

    async def set(self, now: datetime) -> None:
        for connection in self.connections:
            await connection.execute("select set_config('clock.now', $1, false)", now.isoformat())


async def follow(connection: asyncpg.Connection) -> None:
    await connection.execute("set search_path = clock, pg_catalog, public")


@pytest.fixture
async def clock(connection: asyncpg.Connection) -> Clock:
    await connection.execute(_CLOCK)
    await follow(connection)
    await stages.register(connection, "report", [stage("report")])
    made = Clock([connection])
    await made.set(START)
    return made


@pytest.fixture
async def others(clock: Clock, database_url: str) -> AsyncIterator[list[asyncpg.Connection]]:
    """Connections of other workers, on the same clock."""
    opened = [await asyncpg.connect(database_url) for _ in range(4)]
    for one in opened:
        await follow(one)
    clock.connections = [*clock.connections, *opened]
    await clock.set(START)
    yield opened
    for one in opened:
        if not one.is_closed():
            await one.close()


class People:
    """As much of an application as steering asks for, on the connection that follows the test's clock."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self.heard: list[Event] = []
        self.events = Events([self.heard.append])

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        with translated():
            yield self._connection


def stage(name: str) -> Declared:
    return Declared(name=name, position=0, max_attempts=3, max_running=None, policy="{}")


def hourly(name: str = "hourly", **changes: Any) -> ScheduleDefinition:
    return ScheduleDefinition(**{"name": name, "cron": "@hourly", "pipeline": "report", **changes})


async def run(connection: asyncpg.Connection, **parts: Any) -> dict[str, int]:
    return {name: n for name, n in (await Schedules(**parts).run_once(connection)).items() if n}


async def keys(connection: asyncpg.Connection) -> list[str]:
    return [row["idempotency_key"] for row in await connection.fetch("select * from penstock.tasks order by id")]


def hourly_keys(*hours: int) -> list[str]:
    return [fire_key("hourly", START.replace(hour=hour)) for hour in hours]


async def stored(connection: asyncpg.Connection, name: str = "hourly") -> schedules.Schedule:
    found = await schedules.get(connection, name)
    assert found is not None
    return found


# ---- one fire per time


async def test_a_due_schedule_enqueues_its_task_once_with_input_options_and_key(
    connection: asyncpg.Connection, clock: Clock
):
    options = {"priority": "high", "lane": "night", "owner": "ann", "max_attempts": 7, "timeout": 30}
    await steering.create(People(connection), hourly(input={"day": "today"}, options=options), by="ann")
    assert await run(connection) == {}
    await clock.set(START + HOUR)
    heard: list[Event] = []
    assert await run(connection, events=Events([heard.append])) == {"fired": 1}
    assert await run(connection) == {}

    task = await connection.fetchrow(
        "select t.*, q.max_attempts, l.key as lane, l.priority from penstock.tasks t"
        " join penstock.queue q on q.task_id = t.id join penstock.lanes l on l.id = q.lane"
    )
    assert task is not None
    assert task["idempotency_key"] == "schedule:hourly:2026-03-28T13:00:00Z"
    assert (task["input"], task["owner"], task["max_attempts"]) == ('{"day": "today"}', "ann", 7)
    assert (task["lane"], task["priority"]) == ("night", -10)
    assert task["options"] == '{"max_attempts": 7, "timeout_seconds": 30.0}'
    row = await stored(connection)
    assert (row.last_fire_at, row.next_fire_at) == (START + HOUR, START + 2 * HOUR)
    assert (row.last_task_id, row.last_error) == (task["id"], None)
    assert [(event.name, event.data["tasks"]) for event in heard] == [("schedule.fired", [task["id"]])]


async def test_workers_that_run_at_the_same_time_fire_once(
    connection: asyncpg.Connection, clock: Clock, others: list[asyncpg.Connection]
):
    for number in range(20):
        await steering.create(People(connection), hourly(f"hourly {number}"), by="ann")
    for round_ in range(1, 6):
        await clock.set(START + round_ * HOUR)
        counts = await asyncio.gather(*(run(one) for one in others))
        assert sum(count.get("fired", 0) for count in counts) == 20
    assert len(await keys(connection)) == 100


async def test_a_worker_that_saw_it_due_before_another_fired_does_nothing_even_after_retention(
    connection: asyncpg.Connection, clock: Clock, others: list[asyncpg.Connection]
):
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + HOUR)
    seen = await stored(others[0])
    assert await run(connection) == {"fired": 1}
    await connection.execute("delete from penstock.queue")
    await connection.execute("delete from penstock.tasks")
    assert await Schedules()._turn(others[0], seen, 10) == {}
    assert await Schedules()._fail(others[0], seen, None, "too late") == {}
    assert await keys(connection) == []
    assert (await stored(connection)).next_fire_at == START + 2 * HOUR


async def test_a_schedule_that_is_being_fired_is_neither_waited_for_nor_fired_again(
    connection: asyncpg.Connection, clock: Clock, others: list[asyncpg.Connection]
):
    await steering.create(People(connection), hourly("a"), by="ann")
    await steering.create(People(connection), hourly("b"), by="ann")
    await clock.set(START + HOUR)
    async with others[0].transaction():
        await others[0].execute("select from penstock.schedules where name = 'a' for update")
        async with asyncio.timeout(60):
            assert await run(connection) == {"fired": 1}
    assert await keys(connection) == [fire_key("b", START + HOUR)]
    assert await run(connection) == {"fired": 1}


async def test_a_fire_that_dies_before_its_commit_happens_exactly_once_later(
    connection: asyncpg.Connection, clock: Clock, others: list[asyncpg.Connection]
):
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + HOUR)
    with pytest.raises(FailpointHit):
        await run(others[0], failpoints=Failpoints("after_schedule_fire:raise:1"))
    with pytest.raises((asyncpg.InterfaceError, OSError)):
        await run(others[1], failpoints=Failpoints("after_schedule_fire:drop_connection:1"))
    assert await keys(connection) == []
    assert (await stored(connection)).next_fire_at == START + HOUR

    async def until_fired() -> None:
        while not await run(connection):  # the server may not have noticed the dead connection yet
            await asyncio.sleep(0.01)

    await asyncio.wait_for(until_fired(), 60)
    assert await keys(connection) == hourly_keys(13)
    assert await run(others[2]) == {}


async def test_a_cancelled_run_leaves_the_fire_to_the_next(
    connection: asyncpg.Connection,
    clock: Clock,
    others: list[asyncpg.Connection],
    monkeypatch: pytest.MonkeyPatch,
):
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + HOUR)
    reached = asyncio.Event()
    fire = schedules.fire

    async def fire_and_hang(*arguments: Any) -> list[schedules.Fire]:
        fires = await fire(*arguments)
        reached.set()
        await asyncio.Event().wait()
        return fires

    monkeypatch.setattr(schedules, "fire", fire_and_hang)
    running = asyncio.create_task(run(others[0]))
    await asyncio.wait_for(reached.wait(), 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    monkeypatch.undo()
    assert await run(connection) == {"fired": 1}
    assert await keys(connection) == hourly_keys(13)


async def test_the_transaction_of_a_fire_bounds_how_long_it_waits_and_idles(
    connection: asyncpg.Connection, clock: Clock
):
    async with connection.transaction():
        await schedules.bound(connection)
        assert await connection.fetchval("show idle_in_transaction_session_timeout") == "10s"
        assert await connection.fetchval("show lock_timeout") == "2s"
    assert await connection.fetchval("show lock_timeout") == "0"


# ---- clocks


async def test_only_the_clock_of_the_database_counts(
    connection: asyncpg.Connection, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    class Absurd(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Absurd":
            return cls(1905, 1, 1, tzinfo=tz)

        utcnow = today = now

    for module in (duty_module, scheduling, fire_times, schedules):
        monkeypatch.setattr(module, "datetime", Absurd)
    monkeypatch.setattr(time, "time", lambda: -2e9)
    await clock.set(datetime(2061, 7, 28, 12, 30, tzinfo=UTC))
    view = await steering.create(People(connection), hourly(), by="ann")
    assert view.upcoming[0] == datetime(2061, 7, 28, 13, 0, tzinfo=UTC)
    assert await run(connection) == {}
    await clock.set(datetime(2061, 7, 28, 13, 0, tzinfo=UTC))
    assert await run(connection) == {"fired": 1}
    assert await keys(connection) == ["schedule:hourly:2061-07-28T13:00:00Z"]


async def test_a_clock_that_is_set_back_fires_nothing_twice(connection: asyncpg.Connection, clock: Clock):
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + 2 * HOUR)
    await run(connection)
    await connection.execute("delete from penstock.queue")
    await connection.execute("delete from penstock.tasks")
    for minutes in range(0, 181, 10):
        await clock.set(START + minutes * MINUTE)
        await run(connection)
    assert await keys(connection) == hourly_keys(15)


# ---- times that were missed


async def missed(connection: asyncpg.Connection, clock: Clock, policy: str) -> list[Event]:
    heard: list[Event] = []
    await steering.create(People(connection), hourly(missed=policy), by="ann")
    await clock.set(START + 5 * HOUR + 20 * MINUTE)
    while await run(connection, events=Events([heard.append])):
        pass
    assert (await stored(connection)).next_fire_at == START + 6 * HOUR
    return heard


async def test_policy_one_catches_up_with_the_newest_and_tells_of_the_rest(
    connection: asyncpg.Connection, clock: Clock
):
    heard = await missed(connection, clock, "one")
    assert await keys(connection) == hourly_keys(17)
    assert [event.name for event in heard] == ["schedule.skipped", "schedule.fired"]
    assert (heard[0].data["skipped"], heard[0].data["policy"]) == (4, "one")


async def test_policy_all_catches_up_with_each(connection: asyncpg.Connection, clock: Clock):
    await missed(connection, clock, "all")
    assert await keys(connection) == hourly_keys(13, 14, 15, 16, 17)


async def test_policy_skip_catches_up_with_none(connection: asyncpg.Connection, clock: Clock):
    heard = await missed(connection, clock, "skip")
    assert await keys(connection) == []
    assert [(event.name, event.data["skipped"]) for event in heard] == [("schedule.skipped", 5)]
    assert (await stored(connection)).last_fire_at is None


async def test_catching_up_goes_in_bounded_pieces_and_starves_nobody(connection: asyncpg.Connection, clock: Clock):
    await steering.create(People(connection), hourly("busy", cron="@every 1s", missed="all"), by="ann")
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + HOUR)
    assert await run(connection) == {"fired": 501}
    assert await run(connection) == {"fired": 1000}
    while await run(connection):
        pass
    assert len(set(await keys(connection))) == 3601


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    cron=crons,
    zone=st.sampled_from(sorted(CHANGES)),
    change=st.integers(0, 1),
    policy=st.sampled_from(["all", "all", "one", "skip"]),
    absences=st.lists(st.integers(1, 36_000), min_size=1, max_size=6),
)
async def test_whatever_the_absences_every_time_is_fired_once_or_left_out_as_the_policy_says(
    connection: asyncpg.Connection,
    clock: Clock,
    cron: str,
    zone: str,
    change: int,
    policy: str,
    absences: list[int],
):
    await connection.execute("truncate penstock.schedules, penstock.tasks, penstock.queue, penstock.counts")
    start = now = datetime.fromisoformat(CHANGES[zone][change]).replace(tzinfo=UTC) - 6 * HOUR
    await clock.set(now)
    definition = hourly(cron=cron, timezone=zone, missed=policy)
    await steering.create(People(connection), definition, by="ann")
    for seconds in absences:
        now += timedelta(seconds=seconds)
        await clock.set(now)
        await run(connection)
        while (row := await stored(connection)).next_fire_at is not None and row.next_fire_at <= now:
            await run(connection)
    fired = await keys(connection)
    possible = [fire_key("hourly", at) for at in brute_force(cron, definition.zone, start, now)]
    assert len(fired) == len(set(fired))
    assert set(fired) <= set(possible)
    if policy == "all":
        assert fired == possible
    if policy == "one" and possible:
        assert fired[-1] == possible[-1]


# ---- schedules that cannot fire


async def test_one_broken_schedule_stops_nobody_and_moves_on(connection: asyncpg.Connection, clock: Clock):
    for number in range(100):
        await steering.create(People(connection), hourly(f"hourly {number:02}"), by="ann")
    change = "update penstock.schedules set {} where name = $1"
    await connection.execute(change.format("pipeline = 'nobody'"), "hourly 10")
    await connection.execute(change.format("input = jsonb_build_object('x', repeat('x', 70000))"), "hourly 20")
    await connection.execute(change.format('options = \'{"priority": "x"}\''), "hourly 30")
    await connection.execute(change.format("cron = 'whenever'"), "hourly 40")
    await connection.execute(change.format("timezone = 'Mars/Olympus'"), "hourly 50")
    await clock.set(START + HOUR)
    heard: list[Event] = []
    assert await run(connection, events=Events([heard.append])) == {"fired": 95, "failed": 5}
    assert await run(connection) == {}

    rows = {row.name: row for row in await schedules.listing(connection) if row.last_error}
    assert sorted(rows) == [f"hourly {number}0" for number in range(1, 6)]
    assert 'No task or pipeline is called "nobody". Check the name' in str(rows["hourly 10"].last_error)
    assert "at most 65536 are kept" in str(rows["hourly 20"].last_error)
    assert "'whenever'" in str(rows["hourly 40"].last_error)
    moved_on = {name for name, row in rows.items() if row.next_fire_at == START + 2 * HOUR}
    assert moved_on == {"hourly 10", "hourly 20", "hourly 30"}
    assert {rows["hourly 40"].next_fire_at, rows["hourly 50"].next_fire_at} == {None}
    failed = [event for event in heard if event.name == "schedule.failed"]
    assert sorted(event.data["schedule"] for event in failed) == sorted(rows)
    assert all(event.name in NAMES for event in heard)

    await steering.update(People(connection), hourly("hourly 10"), by="ann")
    await steering.update(People(connection), hourly("hourly 40"), by="ann")
    await clock.set(START + 2 * HOUR)
    assert (await run(connection))["fired"] == 97
    assert (await stored(connection, "hourly 10")).last_error is None


async def test_a_fault_of_the_database_leaves_the_fire_due_and_is_told(connection: asyncpg.Connection, clock: Clock):
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + HOUR)
    await connection.execute("alter table penstock.counts rename to counts_away")
    with pytest.raises(asyncpg.UndefinedTableError):
        await run(connection)
    await connection.execute("alter table penstock.counts_away rename to counts")
    assert await run(connection) == {"fired": 1}
    assert await keys(connection) == hourly_keys(13)


async def test_a_lane_that_is_locked_postpones_only_its_own_schedule(
    connection: asyncpg.Connection, clock: Clock, others: list[asyncpg.Connection]
):
    await steering.create(People(connection), hourly("a", options={"lane": "busy"}), by="ann")
    await steering.create(People(connection), hourly("b"), by="ann")
    await connection.execute("select penstock.open_lane('report', 'busy', 0)")
    await clock.set(START + HOUR)
    async with others[0].transaction():
        await others[0].execute("select from penstock.lanes where key = 'busy' for update")
        assert await run(connection) == {"fired": 1, "postponed": 1}
    assert await run(connection) == {"fired": 1}


# ---- what code declares


async def versions(connection: asyncpg.Connection) -> list[Any]:
    return [row["xmin"] for row in await connection.fetch("select xmin from penstock.schedules order by name")]


async def test_declaring_the_same_again_writes_nothing(connection: asyncpg.Connection, clock: Clock):
    wanted = [hourly(), hourly("other", options={"priority": "low"}, input={"b": 1, "a": [1.5]})]
    assert await scheduling.declare(connection, wanted) == {"declared": 2, "changed": 2, "left": 0}
    before = await versions(connection)
    await clock.set(START + HOUR)
    assert await scheduling.declare(connection, wanted) == {"declared": 2, "changed": 0, "left": 0}
    assert await versions(connection) == before
    assert (await stored(connection)).next_fire_at == START + HOUR


async def test_the_next_time_is_calculated_anew_only_if_the_times_changed(connection: asyncpg.Connection, clock: Clock):
    await scheduling.declare(connection, [hourly()])
    await clock.set(START + HOUR + MINUTE)
    await scheduling.declare(connection, [hourly(input={"new": True}, missed="all")])
    row = await stored(connection)
    assert (row.input, row.missed, row.next_fire_at) == ({"new": True}, "all", START + HOUR)
    await scheduling.declare(connection, [hourly(cron="30 * * * *")])
    assert (await stored(connection)).next_fire_at == START + HOUR + 30 * MINUTE
    await scheduling.declare(connection, [hourly(cron="30 * * * *", timezone="Asia/Kolkata")])
    assert (await stored(connection)).next_fire_at == START + 2 * HOUR


async def test_what_code_no_longer_declares_is_left_and_marked(connection: asyncpg.Connection, clock: Clock):
    await scheduling.declare(connection, [hourly("of another app")], source="shop")
    await steering.create(People(connection), hourly("of a person"), by="ann")
    await scheduling.declare(connection, [hourly(), hourly("old")])
    assert await scheduling.declare(connection, [hourly()]) == {"declared": 1, "changed": 0, "left": 1}
    declared = {row.name: row.declared for row in await schedules.listing(connection)}
    assert declared == {"hourly": True, "of a person": False, "of another app": True, "old": False}
    await scheduling.declare(connection, [])
    await steering.delete(People(connection), "old", by="ann")
    await clock.set(START + HOUR)
    assert await run(connection) == {"fired": 3}


async def test_many_workers_may_declare_at_the_same_time(
    connection: asyncpg.Connection, clock: Clock, others: list[asyncpg.Connection]
):
    wanted = [hourly(f"hourly {number}") for number in range(50)]
    counts = await asyncio.gather(
        *(scheduling.declare(one, wanted[::step]) for one, step in zip(others, (1, -1, 1, -1), strict=True))
    )
    assert sum(count["changed"] for count in counts) == 50
    assert len(await schedules.listing(connection)) == 50


async def test_a_name_that_is_declared_twice_is_refused(connection: asyncpg.Connection, clock: Clock):
    with pytest.raises(InvalidDefinition, match=r"'hourly'.*two schedules"):
        await scheduling.declare(connection, [hourly(), hourly()])
    assert await schedules.listing(connection) == []


# ---- what people do


async def test_times_that_pass_during_a_pause_are_not_caught_up(connection: asyncpg.Connection, clock: Clock):
    await steering.create(People(connection), hourly(missed="all"), by="ann")
    paused = await steering.pause(People(connection), "hourly", by="ann")
    assert (paused.schedule.paused_by, paused.upcoming) == ("ann", ())
    assert (await steering.pause(People(connection), "hourly", by="bob")).schedule.paused_by == "ann"
    await clock.set(START + 5 * HOUR + MINUTE)
    assert await run(connection) == {}
    resumed = await steering.resume(People(connection), "hourly", by="ann")
    assert (resumed.schedule.paused_at, resumed.upcoming[0]) == (None, START + 6 * HOUR)
    assert await run(connection) == {}
    await clock.set(START + 6 * HOUR)
    assert await run(connection) == {"fired": 1}
    assert await keys(connection) == hourly_keys(18)


async def test_resuming_what_is_not_paused_drops_no_fire(connection: asyncpg.Connection, clock: Clock):
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + HOUR + MINUTE)
    await steering.resume(People(connection), "hourly", by="ann")
    assert await run(connection) == {"fired": 1}


async def test_a_pause_that_comes_first_wins_over_a_worker_that_saw_it_due(
    connection: asyncpg.Connection, clock: Clock
):
    await steering.create(People(connection), hourly(), by="ann")
    await clock.set(START + HOUR)
    seen = await stored(connection)
    await steering.pause(People(connection), "hourly", by="ann")
    assert await Schedules()._turn(connection, seen, 10) == {}
    assert await keys(connection) == []


async def test_fire_now_enqueues_each_time_and_leaves_the_next_time_alone(connection: asyncpg.Connection, clock: Clock):
    await steering.create(People(connection), hourly(input={"a": 1}, options={"priority": 5}), by="ann")
    await steering.pause(People(connection), "hourly", by="ann")
    first, second = [await steering.fire_now(People(connection), "hourly", by="ann") for _ in range(2)]
    assert first != second
    assert all(key.startswith("schedule:hourly:now:") for key in await keys(connection))
    row = await stored(connection)
    assert (row.next_fire_at, row.last_fire_at, row.last_task_id) == (START + HOUR, None, second)
    await connection.execute("update penstock.schedules set pipeline = 'nobody'")
    with pytest.raises(UnknownTask, match="'nobody'"):
        await steering.fire_now(People(connection), "hourly", by="ann")


async def test_the_list_shows_the_next_five_times(connection: asyncpg.Connection, clock: Clock):
    await steering.create(People(connection), hourly(), by="ann")
    await steering.create(People(connection), hourly("nightly", cron="30 2 * * *", timezone="Europe/Berlin"), by="ann")
    await steering.create(People(connection), hourly("broken"), by="ann")
    await connection.execute("update penstock.schedules set cron = 'x' where name = 'broken'")
    views = {view.schedule.name: view.upcoming for view in await scheduling.listing(connection)}
    assert views["hourly"] == tuple(START + number * HOUR for number in range(1, 6))
    assert [f"{at:%d %H:%M}" for at in views["nightly"]] == [
        "29 01:00",
        "30 00:30",
        "31 00:30",
        "01 00:30",
        "02 00:30",
    ]
    assert views["broken"] == ()


async def test_wrong_wishes_are_answered_with_a_sentence(connection: asyncpg.Connection, clock: Clock):
    await scheduling.declare(connection, [hourly("declared")])
    await steering.create(People(connection), hourly(), by="ann")
    with pytest.raises(UsageError, match="'hourly' already"):
        await steering.create(People(connection), hourly(), by="ann")
    with pytest.raises(UnknownTask, match=r"'nobody'.*report"):
        await steering.create(People(connection), hourly("new", pipeline="nobody"), by="ann")
    for attempt in (
        steering.update(People(connection), hourly("declared"), by="ann"),
        steering.delete(People(connection), "declared", by="ann"),
    ):
        with pytest.raises(UsageError, match=r"'declared' is declared in code by application 'app'.* pause declared`"):
            await attempt
    for wish in (
        scheduling.show(connection, "none"),
        steering.update(People(connection), hourly("none"), by="ann"),
        steering.delete(People(connection), "none", by="ann"),
        steering.pause(People(connection), "none", by="ann"),
        steering.resume(People(connection), "none", by="ann"),
        steering.fire_now(People(connection), "none", by="ann"),
    ):
        with pytest.raises(NotKnown, match=r"schedule 'none'.*declared, hourly"):
            await wish
    await steering.delete(People(connection), "hourly", by="ann")
    assert [row.name for row in await schedules.listing(connection)] == ["declared"]


async def test_the_unfaked_clock_of_the_server_fires_too(connection: asyncpg.Connection):
    await stages.register(connection, "report", [stage("report")])
    await steering.create(People(connection), hourly(cron="@every 1s"), by="ann")

    async def until_fired() -> None:
        while not await run(connection):
            await asyncio.sleep(0.05)

    await asyncio.wait_for(until_fired(), 60)
    row = await stored(connection)
    assert row.last_fire_at is not None
    assert row.last_fire_at <= row.read_at
    assert plan(hourly(cron="@every 1s"), row.last_fire_at, row.last_fire_at).times == (row.last_fire_at,)
