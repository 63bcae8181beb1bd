"""The rule itself, before any database: GCRA never grants more than burst + rate * t in any t seconds."""

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.gcra import SECOND, Gcra, most_above_the_limit

RATES = st.sampled_from([0.2, 1, 3, 7.3, 50, 999])
PAUSES = st.integers(0, 3 * SECOND)
STEPS = st.lists(
    st.tuples(PAUSES, st.lists(st.integers(1, 6), min_size=1, max_size=8), st.sampled_from([0, 50_000, SECOND])),
    max_size=40,
)
# A sum of floats over a day of microseconds is not exact; a permit too many would be a whole 1.
NOTHING = 1e-6


@given(rate=RATES, burst=st.integers(1, 6), steps=STEPS, blocks=st.sets(st.integers(0, 39)))
def test_no_window_ever_holds_more_than_the_limit(rate, burst, steps, blocks):
    model, now = Gcra(rate, burst), 0
    for number, (pause, weights, ahead) in enumerate(steps):
        now += pause
        if number in blocks:
            model.penalise(now, SECOND)
        model.take(now, weights, ahead)
    assert most_above_the_limit(model.grants, rate, burst) <= NOTHING


@given(rate=RATES, burst=st.integers(1, 6), wanted=st.integers(1, 30))
def test_somebody_who_always_comes_in_time_gets_all_of_the_limit(rate, burst, wanted):
    model, now, got = Gcra(rate, burst), 0, 0
    while got < wanted:
        ready, wait = model.take(now, [1] * (wanted - got))
        got += len(ready)
        now += wait or 0
    assert now / SECOND <= max(wanted - burst, 0) / rate + wanted * 2e-6


@given(rate=RATES, burst=st.integers(2, 6))
def test_the_budget_after_a_block_is_one_permit_and_not_a_burst(rate, burst):
    model = Gcra(rate, burst)
    model.penalise(0, SECOND)
    assert model.take(SECOND - 1, [1])[0] == []
    assert len(model.take(SECOND + 2, [1] * burst)[0]) == 1


def test_the_check_itself_sees_a_permit_too_many():
    assert most_above_the_limit([(0, 1), (SECOND, 1), (SECOND, 1)], rate=1, burst=1) == 1
    assert most_above_the_limit([(0, 1), (SECOND, 1), (2 * SECOND, 1)], rate=1, burst=1) == 0
