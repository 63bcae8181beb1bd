"""Decisions that need no database."""

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adaptation.claims import claim_size, ewma, pause_seconds
from penstock.config import load, origin
from penstock.core.payload import clean_text, decode, encode
from penstock.core.retry import ErrorClass, RetryPolicy, classify, retry_after_seconds
from penstock.errors import InvalidSetting, NotStorable, PermanentError, ThrottledError, TransientError, UsageError
from penstock.failpoints import FailpointHit, Failpoints
from penstock.model import Claimed, Priority, priority_number
from penstock.workers.inbox import Held, Inbox, Refusal

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_what_is_encoded_comes_back(value):
    assert decode(encode(value, what="value", limit_bytes=10**6)) == value


@given(st.lists(st.floats()) | st.dictionaries(st.text(max_size=3), st.floats()))
def test_a_number_that_json_cannot_say_is_refused_never_changed(value):
    numbers = value.values() if isinstance(value, dict) else value
    unstorable = any(not math.isfinite(number) for number in numbers)
    unstorable = unstorable or (isinstance(value, dict) and any("\0" in key or not key.isprintable() for key in value))
    try:
        text = encode(value, what="value", limit_bytes=10**6)
    except NotStorable:
        assert unstorable
    else:
        assert decode(text) == value


@given(st.text())
def test_any_text_can_be_made_storable(text):
    assert encode(clean_text(text), what="text", limit_bytes=10**7)


@given(st.integers(1, 60), st.floats(0, 1))
def test_delays_grow_up_to_the_cap_and_never_fall_below_the_plain_delay(attempt, chance):
    policy = RetryPolicy(base_seconds=1, factor=2, cap_seconds=600, jitter=0.1)
    plain = min(2 ** (attempt - 1), 600)
    assert plain <= policy.delay_seconds(attempt, chance=chance) <= plain * 1.1


def test_the_default_delays_are_one_two_and_four_seconds():
    assert [RetryPolicy().delay_seconds(attempt, chance=0) for attempt in (1, 2, 3)] == [1, 2, 4]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError(), ErrorClass.TRANSIENT),
        (PermanentError(), ErrorClass.PERMANENT),
        (ThrottledError(retry_after=3), ErrorClass.THROTTLED),
        (TransientError(), ErrorClass.TRANSIENT),
        (LookupError(), ErrorClass.PERMANENT),
        (IndexError(), ErrorClass.TRANSIENT),
    ],
)
def test_errors_have_classes_and_the_policy_has_the_last_word(error, kind):
    policy = RetryPolicy(permanent=(LookupError,), transient=(IndexError,))
    assert classify(error, policy).kind is kind


NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("-5", 0.0),
        ("1e9", 86_400.0),
        ("nan", None),
        ("soon", None),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
    ],
)
def test_retry_after_is_read_in_both_forms_and_nonsense_is_left_alone(value, expected):
    assert retry_after_seconds({"Retry-After": value}, NOW) == expected


@given(
    st.none() | st.floats(0.0001, 10**7),
    st.integers(1, 100),
    st.floats(1, 10**6),
    st.floats(0.1, 1),
    st.integers(1, 100),
    st.integers(100, 5000),
)
def test_a_claim_stays_within_its_bounds_and_says_why(took, processors, slice_ms, safety, least, most):
    decision = claim_size(ewma_ms=took, processors=processors, slice_ms=slice_ms, safety=safety, least=least, most=most)
    assert least <= decision.value <= most and decision.reason
    if took is not None and least < decision.value < most:
        assert decision.value * took <= slice_ms * safety * processors * 1.0001


@given(st.floats(0.1, 1000), st.lists(st.floats(0.1, 1000), min_size=1))
def test_an_average_stays_between_the_smallest_and_the_largest_sample(first, samples):
    value = None
    for sample in [first, *samples]:
        value = ewma(value, sample)
    assert min(first, *samples) - 1e-6 <= value <= max(first, *samples) + 1e-6


@given(st.integers(0, 1000), st.floats(0, 1))
def test_an_idle_worker_polls_ever_less_but_never_beyond_the_longest_pause(empty, chance):
    pause = pause_seconds(empty_claims=empty, least=0.05, most=1.0, chance=chance)
    assert 0.05 * 0.75 <= pause <= 1.25


def task(task_id: int, *, lane: int = 1, stage: int = 1) -> Claimed:
    return Claimed.of(task_id=task_id, lease=1, lane=lane, stage=stage)


def test_an_inbox_refuses_what_the_runner_holds_already_and_says_where():
    held = Held()
    inbox, other = Inbox(held=held, size=3), Inbox(held=held, size=3)
    assert inbox.offer([task(1), task(2)], {}) == []
    assert [why for _, why in inbox.offer([task(1)], {})] == [Refusal.QUEUED]
    assert [why for _, why in other.offer([task(1, stage=2)], {})] == [Refusal.OTHER_STAGE]
    assert inbox.take().task_id == 1
    assert [why for _, why in inbox.offer([task(1)], {})] == [Refusal.RUNNING]
    held.let_go([1])
    assert inbox.offer([task(1), task(3)], {}) == []
    assert [why for _, why in inbox.offer([task(4)], {})] == [Refusal.FULL]
    assert 4 not in held


def test_an_inbox_takes_the_most_urgent_priority_first_and_turns_between_its_lanes():
    inbox = Inbox(held=Held(), size=100)
    inbox.offer([task(n, lane=1) for n in (1, 2, 3)] + [task(9, lane=3)], {1: 0, 2: 0, 3: -10})
    inbox.offer([task(n, lane=2) for n in (4, 5)], {1: 0, 2: 0, 3: -10})
    order = []
    while (taken := inbox.take()) is not None:
        order.append(taken.task_id)
    assert order == [9, 1, 4, 2, 5, 3]
    assert len(inbox) == 0


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(-2, 2)), max_size=60))
def test_an_inbox_loses_nothing_and_keeps_the_order_within_a_lane(arrivals):
    inbox = Inbox(held=Held(), size=1000)
    priorities = dict(reversed(arrivals))
    tasks = [task(n, lane=lane) for n, (lane, _) in enumerate(arrivals, 1)]
    inbox.offer(tasks, priorities)
    taken = inbox.drain()
    assert sorted(one.task_id for one in taken) == [one.task_id for one in tasks]
    for lane in priorities:
        ids = [one.task_id for one in taken if one.lane == lane]
        assert ids == sorted(ids)
    ranks = [priorities[one.lane] for one in taken]
    assert ranks == sorted(ranks)


def test_priorities_have_names_and_numbers():
    assert priority_number("high") == Priority.HIGH == -10
    assert priority_number(-100) == -100
    with pytest.raises(InvalidSetting):
        priority_number("urgent")


def test_a_wrong_setting_is_one_sentence_with_the_value(monkeypatch):
    monkeypatch.setenv("PENSTOCK_RUNNERS", "many")
    with pytest.raises(InvalidSetting, match="PENSTOCK_RUNNERS = 'many' will not do"):
        load()


def test_settings_that_do_not_fit_together_are_refused():
    with pytest.raises(
        UsageError, match=r"^PENSTOCK_LEASE_SECONDS = 10 has to be at least twice PENSTOCK_HEARTBEAT_SECONDS"
    ):
        load(heartbeat_seconds=6, lease_seconds=10)
    with pytest.raises(UsageError, match="PENSTOCK_CLAIM_MIN"):
        load(claim_min=500, claim_max=100)


def test_a_password_in_the_database_url_is_not_shown():
    assert "secret" not in repr(load(database_url="postgresql://me:secret@db/app"))


def test_where_a_setting_came_from_can_be_told():
    assert origin("port", {}, {"PENSTOCK_PORT": "1"}) == "environment PENSTOCK_PORT"
    assert origin("port", {"port": 1}, {}) == "command line"
    assert origin("port", {}, {}) == "default"


def test_failpoints_are_off_unless_named_and_repeat_with_a_seed():
    Failpoints("").hit("before_claim")
    with pytest.raises(FailpointHit):
        Failpoints("before_claim:raise").hit("before_claim")

    def plan(seed: int) -> list[bool]:
        points = Failpoints("before_claim:raise:0.5", seed=seed)
        out = []
        for _ in range(20):
            try:
                points.hit("before_claim")
                out.append(False)
            except FailpointHit:
                out.append(True)
        return out

    assert plan(7) == plan(7) != plan(8)
    with pytest.raises(InvalidSetting, match="nonsense"):
        Failpoints("nonsense:kill")
