"""The controllers: always within their bounds, quick to give way, able to recover, and calm when nothing changes."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adaptation.claims import Decision, ErrorSpike, Pressure, shrunk
from penstock.adaptation.ingest_batch import IngestBatch, IngestBounds
from penstock.brokers.relay_depths import relay_ahead
from penstock.config import load
from penstock.extensions.catalogue.pacing import Outcome, Pace, PaceBounds
from penstock.workers.slice import lock_expiry

share = st.floats(0, 1)
milliseconds = st.floats(0, 1e6)

# ---------------------------------------------------------------- batches of an import


@st.composite
def ingest_bounds(draw) -> IngestBounds:
    least, p50_ms = draw(st.integers(1, 1000)), draw(st.floats(1, 1000))
    return IngestBounds(
        min_rows=least,
        max_rows=draw(st.integers(least, 50_000)),
        max_bytes=draw(st.integers(64 * 1024, 16 * 1024 * 1024)),
        p50_ms=p50_ms,
        p95_ms=draw(st.floats(p50_ms, 10_000)),
    )


def first(bounds: IngestBounds) -> IngestBatch:
    return IngestBatch(bounds=bounds, rows=bounds.min_rows, reason="first")


def sizes(batch: IngestBatch, count: int, row_ms: float, row_bytes: int = 10) -> list[int]:
    """What the controller chooses over so many full batches of a database that takes this long for a row."""
    found = []
    for _ in range(count):
        batch = batch.after_batch(batch.rows, batch.rows * row_bytes, batch.rows * row_ms, 0.0)
        found.append(batch.rows)
    return found


@given(
    ingest_bounds(),
    st.lists(st.one_of(st.none(), st.tuples(share, st.integers(1, 100_000), milliseconds, milliseconds)), max_size=60),
)
def test_a_batch_stays_within_rows_and_bytes_whatever_happens(bounds, happened):
    batch = first(bounds)
    for one in happened:
        if one is None:
            batch, pause_seconds = batch.after_error(lambda: 1.0)
            assert 0 < pause_seconds <= 30
        else:
            filled, row_bytes, took_ms, wait_ms = one
            rows = max(1, int(batch.rows * filled))
            batch = batch.after_batch(rows, rows * row_bytes, took_ms, wait_ms)
            trouble = took_ms > bounds.p95_ms or wait_ms > 50
            assert trouble or batch.rows * row_bytes <= bounds.max_bytes or batch.rows == 1
        assert 1 <= batch.rows <= bounds.max_rows
        assert batch.reason


def test_a_healthy_database_takes_batches_to_the_largest_by_doubling():
    assert sizes(IngestBatch.start(load()), 10, row_ms=0.02) == [
        128, 256, 512, 1024, 2048, 4096, 8192, 16384, 20_000, 20_000,
    ]  # fmt: skip


@given(ingest_bounds(), st.floats(0.0001, 100))
def test_a_database_of_constant_speed_gets_batches_of_constant_size(bounds, row_ms):
    found = sizes(first(bounds), 300, row_ms)
    assert len(set(found[100:])) == 1
    settled = found[-1]
    assert settled * row_ms <= bounds.p95_ms or settled == bounds.min_rows


@given(ingest_bounds())
def test_a_database_that_is_fast_enough_for_all_gets_the_largest_batches(bounds):
    assert sizes(first(bounds), 40, row_ms=bounds.p50_ms / bounds.max_rows / 2.1, row_bytes=1)[-1] == bounds.max_rows


@given(st.floats(2001, 1e6))
def test_a_slow_batch_and_a_wait_for_a_connection_halve_the_next(took_ms):
    batch = replace(IngestBatch.start(load()), rows=4096)
    slow = batch.after_batch(4096, 40_960, took_ms, 0.0)
    waited = batch.after_batch(4096, 40_960, 10.0, 80.0)
    assert slow.rows == waited.rows == 2048
    assert "slow batches take" in slow.reason
    assert "waiting for a connection" in waited.reason


def test_errors_halve_the_batch_and_the_pause_grows_with_full_jitter():
    batch = replace(IngestBatch.start(load()), rows=1024)
    pauses = []
    for _ in range(8):
        batch, pause_seconds = batch.after_error(lambda: 1.0)
        pauses.append(pause_seconds)
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert batch.rows == 64
    assert batch.after_error(lambda: 0.0)[1] == 0
    assert "error 8 in a row" in batch.reason
    assert batch.after_batch(64, 640, 5.0, 0.0).after_error(lambda: 1.0)[1] == 0.5


def test_after_trouble_the_batch_grows_back_to_the_largest():
    batch = replace(IngestBatch.start(load()), rows=20_000)
    for _ in range(12):
        batch, _ = batch.after_error(lambda: 0.5)
    assert sizes(batch, 200, row_ms=0.001)[-1] == 20_000


def test_a_size_that_is_too_much_every_time_is_tried_ever_more_rarely():
    """A database that is quick up to 1,000 rows and stalls beyond, which no single batch lets foresee."""
    batch = IngestBatch.start(load())
    tried = []
    for number in range(300):
        too_much = batch.rows > 1000
        tried += [number] if too_much else []
        batch = batch.after_batch(batch.rows, batch.rows, 5000.0 if too_much else 5.0, 0.0)
    assert 3 <= len(tried) <= 10
    gaps = [later - earlier for earlier, later in pairwise(tried)]
    assert gaps == sorted(gaps) and gaps[-1] > 50


def test_a_batch_that_was_not_full_lets_nothing_grow():
    batch = replace(IngestBatch.start(load()), rows=1024)
    assert batch.after_batch(3, 30, 0.5, 0.0).rows == 1024


def test_rows_of_a_megabyte_are_stored_a_few_at_a_time():
    batch = IngestBatch.start(load()).after_batch(64, 64 * 1024 * 1024, 100.0, 0.0)
    assert batch.rows == 8
    assert "8,388,608 bytes" in batch.reason
    assert batch.max_bytes == 8 * 1024 * 1024


# ---------------------------------------------------------------- providers


@given(st.lists(st.tuples(st.sampled_from(Outcome), milliseconds), max_size=200))
def test_a_pace_stays_within_its_bounds(outcomes):
    bounds = PaceBounds(min_concurrency=2, max_concurrency=20, max_delay_seconds=30)
    pace = Pace(5, bounds=bounds)
    for outcome, took_ms in outcomes:
        before, pace = pace, pace.after(outcome, took_ms)
        assert 2 <= pace.concurrency <= 20
        assert 0 <= pace.delay_seconds <= 30
        assert pace.concurrency <= before.concurrency + 1
        if outcome is Outcome.OK:
            assert pace.concurrency >= before.concurrency and pace.delay_seconds <= before.delay_seconds
        else:
            assert pace.concurrency <= before.concurrency and pace.delay_seconds >= before.delay_seconds


@given(st.lists(st.sampled_from(Outcome), max_size=100))
def test_good_answers_bring_the_pace_to_the_most_without_a_delay(outcomes):
    pace = Pace(3)
    for outcome in outcomes:
        pace = pace.after(outcome, 10.0)
    for _ in range(200):
        pace = pace.after(Outcome.OK, 10.0)
    assert (pace.concurrency, pace.delay_seconds) == (10, 0.0)
    assert "the most" in pace.reason


def test_concurrency_rises_by_one_for_a_round_of_good_answers():
    pace, seen = Pace(1), []
    for _ in range(10):
        pace = pace.after(Outcome.OK, 10.0)
        seen.append(pace.concurrency)
    assert seen == [2, 2, 3, 3, 3, 4, 4, 4, 4, 5]


def test_a_burst_of_refusals_under_way_together_counts_once():
    pace = Pace(10)
    for _ in range(10):
        pace = pace.after(Outcome.THROTTLED, 10.0)
    assert (pace.concurrency, pace.delay_seconds) == (5, 0.1)
    assert pace.after(Outcome.THROTTLED, 10.0).concurrency == 2


@pytest.mark.parametrize(
    ("outcome", "concurrency", "delay_seconds"),
    [(Outcome.THROTTLED, 5, 0.1), (Outcome.FAILED, 7, 0.1), (Outcome.SLOW, 8, 0.0)],
)
def test_each_kind_of_bad_answer_takes_its_share(outcome, concurrency, delay_seconds):
    pace = Pace(10).after(outcome, 321.0)
    assert (pace.concurrency, pace.delay_seconds) == (concurrency, delay_seconds)
    assert pace.reason == f"{outcome.value} after 321 ms"


def test_a_good_answer_that_took_too_long_counts_as_slow():
    pace = Pace(10, bounds=PaceBounds(slow_ms=1000))
    assert pace.after(Outcome.OK, 999.0).concurrency == 10
    assert pace.after(Outcome.OK, 1001.0).concurrency == 8


# ---------------------------------------------------------------- pressure

KINDS = (Pressure.of_cpu, Pressure.of_memory)
kinds = pytest.mark.parametrize("kind", KINDS)


@given(st.sampled_from(KINDS), st.lists(share, max_size=50), st.floats(0.2, 1))
def test_the_factor_of_pressure_is_a_share_and_returns_to_one(kind, shares, threshold):
    seen = kind(threshold)
    for one in shares:
        seen = seen.after(one)
        assert seen.least - 1e-9 <= seen.factor <= 1
        assert seen.pressed == (seen.factor < 1)
    for _ in range(10):
        seen = seen.after(0.1)
    assert (seen.factor, seen.pressed, seen.reason) == (1.0, False, "no pressure")


@given(st.sampled_from(KINDS), share, share)
def test_more_pressure_never_gives_a_larger_factor(kind, one, other):
    less, more = sorted((one, other))
    assert kind(0.9).after(more).factor <= kind(0.9).after(less).factor


@given(st.lists(st.floats(0.82, 0.9), max_size=50))
def test_a_load_around_the_threshold_does_not_make_the_factor_swing(shares):
    seen = Pressure.of_cpu(0.9).after(0.95)
    factor = seen.factor
    assert factor == pytest.approx(0.75)
    for one in shares:
        seen = seen.after(one)
        assert seen.factor == factor


def test_pressure_falls_at_once_rises_in_steps_and_says_what_it_comes_from():
    full = Pressure.of_memory(0.9).after(1.0)
    assert full.factor == pytest.approx(0.1)
    assert full.reason == "100% of the memory is in use"
    assert full.after(0.1).factor == full.after(0.91).factor == pytest.approx(0.2)
    busy = Pressure.of_cpu(0.9).after(1.0)
    assert busy.factor == pytest.approx(0.5)
    assert busy.reason == "processes wait for a CPU 100% of the time"


@kinds
def test_a_threshold_of_one_switches_the_pressure_off(kind):
    assert kind(1.0).after(1.0).factor == 1.0


# ---------------------------------------------------------------- locks, spikes, what is left of a claim


@given(st.one_of(st.none(), st.floats(0, 1e9)), st.floats(1, 1e5), st.floats(0, 1e6))
def test_a_lock_expires_within_its_bounds(ewma_ms, floor_ms, more_ms):
    cap_ms = floor_ms + more_ms
    decision = lock_expiry(ewma_ms=ewma_ms, floor_ms=floor_ms, cap_ms=cap_ms)
    assert floor_ms <= decision.value <= cap_ms
    if ewma_ms is not None and floor_ms < 2 * ewma_ms < cap_ms:
        assert decision.value == 2 * ewma_ms


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_slower_items_never_get_a_shorter_lock(one_ms, other_ms):
    quick, slow = (lock_expiry(ewma_ms=ms, floor_ms=10_000, cap_ms=900_000).value for ms in sorted((one_ms, other_ms)))
    assert quick <= slow


@given(st.lists(st.tuples(st.integers(0, 500), share), max_size=60))
def test_a_spike_keeps_its_bounds_and_ends_when_runs_work_again(batches):
    spike = ErrorSpike()
    for endings, failed in batches:
        spike = spike.after(endings, int(endings * failed))
        assert 0.25 <= spike.factor <= 1
        assert 1 <= spike.spacing <= 4
        assert spike.spiking == (spike.factor < 1) == (spike.spacing > 1)
    spike = spike.after(150, 0)
    assert (spike.factor, spike.spacing, spike.reason) == (1.0, 1.0, "few errors")


@given(st.integers(1, 300), st.integers(0, 300), st.integers(0, 300))
def test_more_errors_never_give_a_larger_claim_or_a_shorter_wait(endings, one, other):
    few, many = (ErrorSpike().after(endings, min(errors, endings)) for errors in sorted((one, other)))
    assert many.factor <= few.factor
    assert many.spacing >= few.spacing


def test_a_few_first_errors_are_no_spike_and_a_hundred_are():
    assert not ErrorSpike().after(20, 20).spiking
    spike = ErrorSpike().after(100, 100)
    assert spike.spiking
    assert spike.factor < 0.7 and spike.spacing > 2
    assert spike.reason == "63% of the last runs failed"


def test_a_share_of_errors_between_begin_and_end_changes_nothing():
    """At four of ten, a stage without a spike stays without, and one with stays with."""
    calm = spiking = ErrorSpike()
    spiking = spiking.after(500, 500)
    for _ in range(20):
        calm, spiking = calm.after(100, 40), spiking.after(100, 40)
    assert not calm.spiking
    assert spiking.spiking


def test_one_batch_is_judged_as_its_endings_one_by_one_would_be():
    one_by_one = ErrorSpike()
    for _ in range(90):
        one_by_one = one_by_one.after(1, 1)
    assert ErrorSpike().after(90, 90).share == pytest.approx(one_by_one.share)


@given(st.integers(1, 2000), st.floats(0, 1), st.integers(1, 1000))
def test_what_is_left_of_a_claim_is_never_more_than_wanted_nor_less_than_the_least(wanted, factor, least):
    left = shrunk(Decision(value=wanted, reason="wanted"), factor=factor, least=least, reason="trouble")
    assert min(wanted, least) <= left.value <= wanted
    assert left.reason == "wanted" if factor >= 1 else left.reason.endswith("trouble")


# ---------------------------------------------------------------- messages ahead


def test_messages_ahead_follow_what_workers_take_in_half_a_second() -> None:
    assert relay_ahead(before=1000, taken_per_second=400, waiting=900, most=10_000) == 200
    assert relay_ahead(before=1000, taken_per_second=1, waiting=900, most=10_000) == 100
    assert relay_ahead(before=1000, taken_per_second=90_000, waiting=900, most=10_000) == 10_000


def test_messages_ahead_double_when_workers_have_nearly_emptied_the_queue() -> None:
    assert relay_ahead(before=1000, taken_per_second=400, waiting=100, most=10_000) == 2000
    assert relay_ahead(before=8000, taken_per_second=400, waiting=100, most=10_000) == 10_000


def test_messages_ahead_stay_while_nobody_takes_any() -> None:
    assert relay_ahead(before=700, taken_per_second=0, waiting=700, most=10_000) == 700
    assert relay_ahead(before=700, taken_per_second=0, waiting=0, most=10_000) == 700
