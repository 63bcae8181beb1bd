"""Schedules without a database: definitions, fire times across changes of the clocks, plans."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import islice, pairwise
from typing import Any

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidDefinition
from penstock.schedules.fire_times import in_words
from penstock.schedules.scheduling import (
    FIRES_PER_PLAN,
    ScheduleDefinition,
    fire_key,
    fires_after,
    fires_between,
    latest_fire,
    next_fire,
    plan,
)

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Africa/Cairo",
)
# A day of 2026 or so on which the clocks of the zone go forward, and one on which they go back.
CHANGES = {
    "Europe/Berlin": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-10-04", "2026-04-05"),
    "Africa/Casablanca": ("2026-03-22", "2026-02-15"),
    "Africa/Cairo": ("2026-04-24", "2026-10-30"),
}
MINUTE = timedelta(minutes=1)


def schedule(cron: str = "* * * * *", timezone: str = "UTC", **changes: Any) -> ScheduleDefinition:
    return ScheduleDefinition(**{"name": "nightly", "pipeline": "report", **changes}, cron=cron, timezone=timezone)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(definition: ScheduleDefinition, day: str) -> list[str]:
    """The fires of one calendar day in the schedule's zone, as people there read them."""
    start = datetime.fromisoformat(day).replace(tzinfo=definition.zone)
    fires = fires_between(definition, start.astimezone(UTC) - timedelta(hours=3), start + timedelta(days=2))
    shown = [at.astimezone(definition.zone) for at in fires]
    return [f"{at:%H:%M%z}" for at in shown if f"{at:%Y-%m-%d}" == day]


# ---- a second opinion: look at every minute


@cache
def values(text: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return frozenset(found)


def wall_matches(cron: str, wall: datetime) -> bool:
    minute, hour, day, month, weekday = cron.split()
    if wall.minute not in values(minute, 0, 59) or wall.hour not in values(hour, 0, 23):
        return False
    right_day = wall.day in values(day, 1, 31)
    right_weekday = bool({wall.isoweekday(), wall.isoweekday() % 7} & values(weekday, 0, 7))
    both = day.startswith("*") or weekday.startswith("*")
    right = (right_day and right_weekday) if both else (right_day or right_weekday)
    return right and wall.month in values(month, 1, 12)


def brute_force(cron: str, zone: tzinfo, after: datetime, until: datetime) -> list[datetime]:
    """Live through every minute as Debian's cron does: running jobs go by the wall at this minute; fixed jobs
    by the wall times that were reached for the first time, which after a jump are several at once."""
    running = any(field.startswith("*") for field in cron.split()[:2])
    found = []
    at = (after - timedelta(hours=2)).replace(second=0, microsecond=0)
    reached = at.astimezone(zone).replace(tzinfo=None)
    while at <= until:
        wall = at.astimezone(zone).replace(tzinfo=None)
        if running:
            fires = wall_matches(cron, wall)
        else:
            fires = any(wall_matches(cron, missed) for missed in minutes_after(reached, wall))
        reached = max(reached, wall)
        if fires and at > after:
            found.append(at)
        at += MINUTE
    return found


def minutes_after(start: datetime, end: datetime) -> Iterator[datetime]:
    while start < end:
        start += MINUTE
        yield start


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.lists(number, min_size=2, max_size=2, unique=True).map(lambda ends: f"{min(ends)}-{max(ends)}")
    step = st.integers(1, high).map(str)
    return st.one_of(
        st.just("*"),
        number.map(str),
        step.map("*/{}".format),
        span,
        st.tuples(span, step).map("/".join),
        st.lists(number, min_size=2, max_size=3, unique=True).map(lambda many: ",".join(map(str, many))),
    )


often = st.just("*")
crons = st.tuples(
    fields(0, 59),
    st.one_of(fields(0, 23), fields(0, 4)),
    st.one_of(often, often, fields(1, 28)),
    often,
    st.one_of(often, often, fields(0, 7)),
).map(" ".join)


@st.composite
def stretches(draw: st.DrawFn) -> tuple[str, datetime, datetime]:
    """A zone and a day or two of its year, mostly around a change of its clocks."""
    zone = draw(st.sampled_from(ZONES))
    day = draw(st.sampled_from(CHANGES[zone])) if zone in CHANGES and draw(st.integers(0, 3)) else "2026-06-15"
    after = utc(day) + timedelta(minutes=draw(st.integers(-1440, 1440)), seconds=draw(st.integers(0, 59)))
    return zone, after, after + timedelta(minutes=draw(st.integers(1, 1800)))


@settings(max_examples=200, deadline=None)
@given(cron=crons, stretch=stretches())
def test_fire_times_are_those_that_a_look_at_every_minute_finds(cron: str, stretch: tuple[str, datetime, datetime]):
    timezone, after, until = stretch
    definition = schedule(cron, timezone)
    expected = brute_force(cron, definition.zone, after, until)
    assert list(fires_between(definition, after, until, limit=10_000)) == expected
    assert latest_fire(definition, after, until) == (expected[-1] if expected else None)


@settings(max_examples=50, deadline=None)
@given(cron=crons, stretch=stretches(), cut=st.floats(0, 1))
def test_stopping_anywhere_and_going_on_changes_nothing(cron: str, stretch: tuple[str, datetime, datetime], cut: float):
    timezone, after, until = stretch
    definition = schedule(cron, timezone)
    middle = after + (until - after) * cut
    parts = [*fires_between(definition, after, middle, 9999), *fires_between(definition, middle, until, 9999)]
    assert parts == list(fires_between(definition, after, until, 9999))


@pytest.mark.parametrize("cron", ["17 * * * *", "30 2 * * *", "0 0 1 * *", "*/20 1-3 * * MON-FRI", "5 4 * * SUN#2"])
@pytest.mark.parametrize("timezone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_a_year_of_whole_hour_zones_agrees_with_cronsim(cron: str, timezone: str):
    definition = schedule(cron, timezone)
    start = utc("2025-12-31")
    ours = list(islice(fires_after(definition, start), 400))
    theirs = [at.astimezone(UTC) for at in islice(CronSim(cron, start.astimezone(definition.zone)), 400)]
    assert ours == theirs


def test_a_time_that_the_clocks_jump_over_fires_once_at_the_end_of_the_jump():
    assert local(schedule("30 2 * * *", "Europe/Berlin"), "2026-03-29") == ["03:00+0200"]
    assert local(schedule("0,15,30 2 * * *", "Europe/Berlin"), "2026-03-29") == ["03:00+0200"]
    assert local(schedule("30 2,3 * * *", "America/New_York"), "2026-03-08") == ["03:00-0400", "03:30-0400"]
    assert local(schedule("15 2 * * *", "Australia/Lord_Howe"), "2026-10-04") == ["02:30+1100"]
    assert local(schedule("30 0 * * *", "Africa/Cairo"), "2026-04-24") == ["01:00+0300"]


def test_a_time_that_comes_twice_fires_the_first_time_only():
    assert local(schedule("30 2 * * *", "Europe/Berlin"), "2026-10-25") == ["02:30+0200"]
    assert local(schedule("30 1 * * *", "America/New_York"), "2026-11-01") == ["01:30-0400"]
    assert local(schedule("45 1 * * *", "Australia/Lord_Howe"), "2026-04-05") == ["01:45+1100"]
    assert local(schedule("30 2 * * *", "Africa/Casablanca"), "2026-02-15") == ["02:30+0100"]


def test_a_stop_inside_the_repeated_hour_does_not_fire_the_past():
    in_second_pass = utc("2026-10-25T01:15")  # 02:15 for the second time
    assert next_fire(schedule("30 2 * * *", "Europe/Berlin"), in_second_pass) == utc("2026-10-26T01:30")


@pytest.mark.parametrize("timezone", ZONES)
def test_an_hourly_job_fires_every_hour_of_the_year(timezone: str):
    fires = list(islice(fires_after(schedule("@hourly", timezone), utc("2026-01-01")), 24 * 365))
    gaps = {later - earlier for earlier, later in pairwise(fires)}
    half = timedelta(minutes=30)
    allowed = {half, 2 * half, 3 * half} if timezone == "Australia/Lord_Howe" else {2 * half}
    assert gaps <= allowed
    assert len(set(fires)) == 24 * 365


def test_an_hourly_job_misses_no_hour_where_clocks_move_by_half_an_hour():
    assert local(schedule("45 * * * *", "Australia/Lord_Howe"), "2026-10-04")[:4] == [
        "00:45+1030",
        "01:45+1030",
        "02:45+1100",
        "03:45+1100",
    ]


@pytest.mark.parametrize(
    ("name", "cron"),
    [("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@weekly", "0 0 * * 0"), ("@monthly", "0 0 1 * *")],
)
def test_names_stand_for_their_expressions(name: str, cron: str):
    start, zone = utc("2026-01-01"), "Europe/Berlin"
    named, written = schedule(name, zone), schedule(cron, zone)
    assert list(islice(fires_after(named, start), 60)) == list(islice(fires_after(written, start), 60))


def test_intervals_are_aligned_to_the_epoch_so_that_all_workers_mean_the_same_times():
    fires = fires_between(schedule("@every 90s"), utc("2026-03-28T00:00:10"), utc("2026-03-28T00:05"))
    assert [f"{at:%H:%M:%S}" for at in fires] == ["00:01:30", "00:03:00", "00:04:30"]
    assert all(at.timestamp() % 90 == 0 for at in fires)


def test_after_is_excluded_and_until_is_included():
    assert fires_between(schedule(), utc("2026-01-01T10:00"), utc("2026-01-01T10:02")) == (
        utc("2026-01-01T10:01"),
        utc("2026-01-01T10:02"),
    )


def test_a_leap_day_far_away_is_found():
    assert next_fire(schedule("*/5 * 29 2 *", "Europe/Berlin"), utc("2024-03-01")) == utc("2028-02-28T23:00")


# ---- plans


DUE, LATER = utc("2026-01-01T10:00"), utc("2026-01-01T10:05:30")


def test_one_fires_the_newest_missed_time_and_tells_how_many_it_left_out():
    made = plan(schedule(missed="one"), DUE, LATER)
    assert made.times == (utc("2026-01-01T10:05"),)
    assert made.skipped == 5
    assert not made.skipped_more
    assert made.next_fire_at == utc("2026-01-01T10:06")


def test_all_fires_each_time_in_bounded_pieces():
    first = plan(schedule(missed="all"), DUE, LATER, limit=4)
    assert [at.minute for at in first.times] == [0, 1, 2, 3]
    assert first.next_fire_at == utc("2026-01-01T10:04")
    second = plan(schedule(missed="all"), first.next_fire_at, LATER, limit=4)
    assert [at.minute for at in second.times] == [4, 5]
    assert (second.skipped, second.next_fire_at) == (0, utc("2026-01-01T10:06"))


def test_skip_drops_what_is_late_and_fires_what_is_on_time():
    hourly = schedule("@hourly", missed="skip")
    late = plan(hourly, DUE, utc("2026-01-01T12:05"))
    assert (late.times, late.skipped, late.next_fire_at) == ((), 3, utc("2026-01-01T13:00"))
    on_time = plan(hourly, DUE, DUE + timedelta(seconds=2))
    assert (on_time.times, on_time.skipped) == ((DUE,), 0)


def test_years_without_a_worker_are_planned_at_once_and_counted_only_so_far():
    made = plan(schedule("@every 1s"), utc("2020-01-01"), utc("2026-01-01"))
    assert made.times == (utc("2026-01-01"),)
    assert (made.skipped, made.skipped_more) == (FIRES_PER_PLAN, True)


def test_a_stored_time_fires_even_if_the_zone_has_new_rules_since():
    stored = utc("2026-01-01T10:00")
    made = plan(schedule("30 9 * * *"), stored, stored + timedelta(seconds=1))
    assert (made.times, made.next_fire_at) == ((stored,), utc("2026-01-02T09:30"))


def test_the_key_of_a_fire_names_schedule_and_time_in_utc():
    at = datetime.fromisoformat("2026-07-01T02:30:00+02:00")
    assert fire_key("nightly", at) == "schedule:nightly:2026-07-01T00:30:00Z"


# ---- definitions


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cron": "61 * * * *"}, ["'61 * * * *'", "Bad minute", "five fields"]),
        ({"cron": "* * * * * *"}, ["'* * * * * *'", "five fields"]),
        ({"cron": "0 0 30 2 *"}, ["'0 0 30 2 *'"]),
        ({"cron": "@fortnightly"}, ["'@fortnightly'", "@weekly"]),
        ({"cron": "@every 0s"}, ["'@every 0s'", "@every 30s"]),
        ({"cron": "@every 99999999d"}, ["'@every 99999999d'"]),
        ({"cron": f"{'9' * 5000} * * * *"}, ["5008 characters"]),
        ({"timezone": "Europe/Berln"}, ["'Europe/Berln'", "'Europe/Berlin'"]),
        ({"timezone": "Europe"}, ["'Europe'"]),
        ({"timezone": "../../etc/passwd"}, ["'../../etc/passwd'", "UTC"]),
        ({"timezone": ""}, ["''"]),
        ({"timezone": "localtime"}, ["'localtime'"]),
        ({"missed": "maybe"}, ["'maybe'", "one, all, skip"]),
        ({"pipeline": ""}, ["pipeline is empty"]),
        ({"name": ""}, ["0 characters"]),
        ({"name": "a\nb"}, ["printed"]),
        ({"input": {"text": "\0"}}, ["NUL"]),
        ({"input": {"text": "x" * 70_000}}, ["70,011 bytes"]),
        ({"input": ["no", "object"]}, ["input is list"]),
        ({"options": {"colour": 1}}, ["'colour'", "unique_key"]),
        ({"options": {"priority": "huge"}}, ["'huge'"]),
        ({"options": {"max_attempts": 0}}, ["max_attempts = 0"]),
    ],
)
def test_a_wrong_definition_is_refused_with_the_value(changes: dict[str, Any], words: list[str]):
    with pytest.raises(InvalidDefinition) as refusal:
        schedule(**changes)
    for word in (*words, f"Schedule {changes.get('name', 'nightly')!r}"):
        assert word in str(refusal.value)


def test_options_are_stored_in_one_spelling():
    high = schedule(options={"priority": "high", "timeout": timedelta(minutes=2), "lane": None})
    assert high.stored_options() == '{"priority":-10,"timeout":120.0}'


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("23 4 * * *", "At 04:23 every day"),
        ("*/15 8-18 * * MON-FRI", "Every 15th minute from 08:00 through 18:59 on Monday through Friday"),
        ("@weekly", "At 00:00 on Sunday"),
        ("@every 30s", "Every 30 seconds"),
        ("@every 120m", "Every 2 hours"),
        ("@every 1d", "Every day"),
        ("never", "never"),
    ],
)
def test_a_schedule_is_told_in_words(cron: str, words: str) -> None:
    assert in_words(cron) == words
