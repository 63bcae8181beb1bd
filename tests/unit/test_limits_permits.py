"""The hand-out inside a process, with a database that is played."""

import asyncio

import pytest

from penstock.events import Events
from penstock.limits import permits
from penstock.limits.limiter import Limiters
from penstock.limits.permits import BUNCH, Permits
from penstock.storage.limits import Grant


def granted(*delays: float, wait: float | None = None) -> Grant:
    return Grant(granted=len(delays), delays_seconds=delays, wait_seconds=wait, rate=10.0, burst=5)


async def test_those_who_wait_together_are_asked_for_in_one_bunch_of_bounded_size():
    asked = []

    async def take(weights, ahead):
        asked.append(list(weights))
        return granted(*[0.0] * len(weights))

    desk = Permits("k", take, hold_seconds=2)
    await asyncio.gather(*(desk.next(1, again=False) for _ in range(BUNCH + 3)))
    assert [len(weights) for weights in asked] == [BUNCH, 3]


class Frozen:
    """A clock that jumps, as it does for a process that was stopped for a while."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_slow_line_reaches_further_ahead_within_bounds(monkeypatch):
    aheads = []
    clock = Frozen()
    monkeypatch.setattr(permits, "monotonic", clock)

    async def take(weights, ahead):
        aheads.append(ahead)
        clock.now += 0.1
        return granted(0.0)

    desk = Permits("k", take, hold_seconds=2)
    for _ in range(12):
        await desk.next(1, again=False)
    assert aheads[0] == 0.05
    assert aheads == sorted(aheads)
    assert 0.1 < aheads[-1] <= 0.5


@pytest.mark.parametrize(("wait", "pause"), [(0.02, 0.0), (0.3, 0.25), (1.9, 0.5)])
async def test_the_store_is_asked_again_before_the_next_permit_is_due(monkeypatch, wait, pause):
    monkeypatch.setattr(permits, "monotonic", Frozen())
    asked = asyncio.Event()

    async def take(weights, ahead):
        if asked.is_set():
            return granted(wait=wait)
        asked.set()
        return await asyncio.Event().wait()

    desk = Permits("k", take, hold_seconds=2)
    waiting = asyncio.create_task(desk.next(1, again=False))
    await asked.wait()
    assert await desk.run_once() == pytest.approx(pause)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_permits_that_a_frozen_process_wakes_up_with_are_not_used(monkeypatch, pool_of):
    clock = Frozen()
    monkeypatch.setattr(permits, "monotonic", clock)
    monkeypatch.setattr("penstock.limits.limiter.monotonic", clock)
    freezes = iter([10.0, 0.0])
    pool = pool_of(lambda: setattr(clock, "now", clock.now + next(freezes)))
    await Limiters(pool, Events()).of("k").acquire()
    assert pool.questions == 2


@pytest.fixture
def pool_of():
    class Pool:
        def __init__(self, before_answer):
            self.before_answer = before_answer
            self.questions = 0

        def acquire(self):
            return self

        async def __aenter__(self):
            return self

        async def __aexit__(self, *args):
            return None

        async def fetch(self, query, *args):
            return []

        async def fetchrow(self, query, *args):
            self.questions += 1
            self.before_answer()
            return {"granted": 1, "delays": [0.0], "wait_seconds": None, "rate": 1.0, "burst": 1, "at": None}

    return Pool


async def test_the_loop_that_asks_is_not_left_behind():
    asked = asyncio.Event()

    async def take(weights, ahead):
        asked.set()
        await asyncio.Event().wait()
        return granted(0.0)

    desk = Permits("k", take, hold_seconds=2)
    waiting = asyncio.create_task(desk.next(1, again=False))
    await asked.wait()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task.get_name() == "limiter k"] == []


async def test_a_fault_that_does_not_pass_reaches_those_who_wait():
    async def take(weights, ahead):
        raise RuntimeError("a bug")

    desk = Permits("k", take, hold_seconds=2)
    with pytest.raises(RuntimeError, match="a bug"):
        await asyncio.wait_for(desk.next(1, again=False), 60)


async def test_limiters_of_many_keys_do_not_pile_up():
    limiters = Limiters(None, Events())
    for number in range(5000):
        limiters.of(f"host {number}")
    assert len(limiters._limiters) <= 1000
