"""Counters are kept per stage, also by a process that does not serve the stage."""

from contextlib import asynccontextmanager

from penstock.core.settle import tell_crashed, tell_rescued, tell_stale
from penstock.events import Events
from penstock.model import Release
from penstock.observe.counter import Counter
from penstock.observe.exposition import Exposition


def given_back(*stages: int) -> list[Release]:
    return [Release(task_id=n, lease=n, stage=stage, cause="crash") for n, stage in enumerate(stages, start=1)]


def test_crashes_rescues_and_stale_settles_are_counted_per_stage():
    counter = Counter()
    counter.know({1: "fetch", 2: "shop/pay"})
    events = Events([counter.on_event])
    tell_crashed(events, given_back(1, 2, 2), worker=7)
    tell_rescued(events, given_back(2), worker=7)
    tell_stale(events, given_back(1))
    assert sorted(counter.take(), key=str) == [
        ["penstock_crashes_total", {"stage": "fetch"}, 1],
        ["penstock_crashes_total", {"stage": "shop/pay"}, 2],
        ["penstock_rescued_total", {"stage": "shop/pay"}, 1],
        ["penstock_stale_settles_total", {"stage": "fetch"}, 1],
    ]


def test_a_stage_without_a_name_waits_until_it_has_one():
    counter = Counter()
    tell_rescued(Events([counter.on_event]), given_back(5), worker=7)
    assert counter.take() == []
    counter.know({5: "fetch"})
    assert counter.take() == [["penstock_rescued_total", {"stage": "fetch"}, 1]]
    assert counter.take() == []


async def test_every_known_stage_starts_at_zero():
    @asynccontextmanager
    async def away():
        raise OSError("away")
        yield

    counter = Counter()
    counter.know({5: "fetch", 6: "pay"})
    tell_crashed(Events([counter.on_event]), given_back(5), worker=7)
    text = (await Exposition(counter=counter, connect=away, runners=list).render()).decode()
    assert 'penstock_crashes_total{stage="fetch"} 1.0' in text
    assert 'penstock_crashes_total{stage="pay"} 0.0' in text
    assert 'penstock_stale_settles_total{stage="fetch"} 0.0' in text
