"""The promises hold in every reachable state of the models, and every guard of the models is needed."""

import pytest

from tests.model import mutants
from tests.model.lease import Lease
from tests.model.search import Found, TooManyStates, search

FEWEST_STATES = {
    "two workers that die, freeze and lose answers": 30_000,
    "three workers that die and freeze": 10_000,
    "two workers, two tasks": 40_000,
}
"""A search that suddenly sees little has lost its moves, not its faults."""


# Nothing but computing, so that a busy machine only makes it longer.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", mutants.WHOLE)
def test_every_promise_holds_in_every_reachable_state(name: str):
    found = search(mutants.WHOLE[name], most_states=100_000)
    print(found.told())
    assert found.broken is None, found.told()
    assert found.states >= FEWEST_STATES.get(name, 100)


@pytest.mark.parametrize("guard", mutants.names())
def test_the_search_finds_what_happens_without_a_guard(guard: str):
    found = search(mutants.without(guard), most_states=100_000)
    print(found.told())
    assert found.broken is not None
    assert found.trace


def test_a_broken_promise_is_told_as_the_shortest_story_in_words():
    found = search(mutants.without("settle checks the worker"))
    assert found.broken == "a settle was accepted although its lease is not the current one"
    assert found.trace == (
        "a new process registers as worker 0",
        "worker 0 claims task 0",
        "worker 0 settles task 0 (hand back) by lease 1, the answer is lost",
        "worker 0 sends again: task 0 (hand back), lease 1, accepted",
    )


def test_a_search_that_would_not_end_says_so():
    with pytest.raises(TooManyStates, match="more than 50 states"):
        search(Lease(workers=2), most_states=50)


def test_a_clean_search_says_how_much_it_saw():
    assert "all of 7 states, 9 steps" in Found(states=7, steps=9, seconds=0.1).told()
