"""Lanes take turns at a limiter, and a circuit judges what it is told. No server."""

import asyncio
from types import SimpleNamespace

import pytest

from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.limits import permits
from penstock.limits.circuits import Reply, judged
from penstock.limits.permits import LimiterBusy, Permits, Waiter, WaitingLine
from penstock.storage.limits import Grant


def waiters(line: WaitingLine, lane: str, count: int) -> list[Waiter]:
    made = [Waiter(1, lane, None) for _ in range(count)]
    for one in made:
        line.add(one)
    return made


def order(line: WaitingLine) -> str:
    return "".join(one.lane for one in line)


def test_lanes_take_turns_however_many_wait_in_each():
    line = WaitingLine()
    waiters(line, "a", 5)
    waiters(line, "b", 2)
    waiters(line, "c", 1)
    assert order(line) == "abcabaaa"
    assert len(line) == 8


def test_who_was_served_last_has_its_next_turn_last():
    line = WaitingLine()
    a, *_ = waiters(line, "a", 3)
    waiters(line, "b", 2)
    line.served(a)
    assert order(line) == "baba"


def test_who_comes_again_goes_first_and_costs_its_lane_no_turn():
    line = WaitingLine()
    waiters(line, "a", 2)
    again = Waiter(1, "b", None)
    line.add(again, again=True)
    assert order(line) == "baa"
    line.served(again)
    assert again not in line
    assert order(line) == "aa"


def test_a_newcomer_waits_for_the_turns_before_its_own_and_not_for_a_whole_lane():
    line = WaitingLine()
    waiters(line, "big", 10_000)
    assert line.weight_before("small") == 1
    assert line.weight_before("big") == 10_000


class Store:
    """Grants one permit per question, and says that the next comes soon."""

    def __init__(self, wait_seconds: float = 0.001, rate: float = 1000.0) -> None:
        self.wait_seconds = wait_seconds
        self.rate = rate
        self.open = True

    async def take(self, weights, ahead_seconds):
        await asyncio.sleep(0)
        granted = (0.0,) if self.open else ()
        return Grant(
            granted=len(granted), delays_seconds=granted, wait_seconds=self.wait_seconds, rate=self.rate, burst=5
        )


async def test_a_single_task_does_not_wait_behind_all_of_a_large_lane():
    store = Store()
    desk = Permits("k", store.take, hold_seconds=600)
    served: list[str] = []

    async def wait(lane: str) -> None:
        await desk.next(1, again=False, lane=lane)
        served.append(lane)

    big = [asyncio.create_task(wait("big")) for _ in range(300)]
    await asyncio.sleep(0)
    single = asyncio.create_task(wait("single"))
    await asyncio.wait_for(single, 60)
    assert served.index("single") <= 17, "at most the bunch that was asked for before it came"
    for one in big:
        one.cancel()
    await asyncio.gather(*big, return_exceptions=True)


async def test_a_lane_of_many_that_were_sent_away_does_not_push_back_the_one_of_another_lane():
    store = Store(wait_seconds=10.0, rate=1.0)
    store.open = False
    desk = Permits("k", store.take, hold_seconds=2)
    big = [asyncio.create_task(desk.next(1, again=False, lane="big")) for _ in range(40)]
    sent = await asyncio.wait_for(asyncio.gather(*big, return_exceptions=True), 60)
    with pytest.raises(LimiterBusy) as raised:
        await desk.next(1, again=False, lane="single")
    returns = sorted(error.retry_after for error in sent if isinstance(error, LimiterBusy))
    assert len(returns) == 40
    assert returns[-1] > 30, "those of one lane come back one after the other"
    assert raised.value.retry_after < 11


async def test_a_desk_that_asks_in_vain_reaches_further_ahead_until_it_gets_something(monkeypatch):
    monkeypatch.setattr(permits, "monotonic", lambda: 1000.0)  # an answer takes no time
    aheads: list[float] = []
    answers = iter([False, False, False, True, True])

    async def take(weights, ahead_seconds):
        aheads.append(ahead_seconds)
        granted = (0.0,) if next(answers) else ()
        return Grant(granted=len(granted), delays_seconds=granted, wait_seconds=0.001, rate=100.0, burst=5)

    desk = Permits("k", take, hold_seconds=2)
    for _ in range(2):
        await asyncio.wait_for(desk.next(1, again=False), 60)
    assert aheads == pytest.approx([0.05, 0.075, 0.1125, 0.16875, 0.05])


class HttpError(Exception):
    def __init__(self, status: int) -> None:
        self.response = SimpleNamespace(status_code=status, headers={})


@pytest.mark.parametrize(
    ("error", "reply"),
    [
        (None, Reply.ANSWERED),
        (TransientError("away"), Reply.FAILED),
        (ConnectionRefusedError(), Reply.FAILED),
        (TimeoutError(), Reply.FAILED),
        (HttpError(500), Reply.FAILED),
        (HttpError(503), Reply.FAILED),
        (HttpError(404), Reply.ANSWERED),
        (HttpError(429), Reply.ANSWERED),
        (ThrottledError(retry_after=3), Reply.ANSWERED),
        (PermanentError("bad row"), Reply.NOTHING),
        (LimiterBusy("other", 3), Reply.NOTHING),
        (asyncio.CancelledError(), Reply.NOTHING),
        (KeyboardInterrupt(), Reply.NOTHING),
    ],
)
def test_only_what_says_that_the_other_side_is_away_counts_as_a_failure(error, reply):
    assert judged(error) is reply
