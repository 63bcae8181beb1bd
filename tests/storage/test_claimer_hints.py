"""A hint is never lost: what was announced while the claimer was busy is found right after."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.config import Settings
from penstock.core.claim import Claimer
from penstock.failpoints import Failpoints
from penstock.storage import lanes as lane_table
from penstock.storage import queue
from penstock.storage.database import Link
from tests.storage.world import World


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
async def claimer(world: World, module_database_url: str, clock: _Clock) -> AsyncIterator[Claimer]:
    link = Link(Settings.model_validate({}), module_database_url, purpose="test")
    yield Claimer(
        link=link,
        worker=await world.worker(),
        failpoints=Failpoints(),
        pipelines={world.stages[0]: world.pipeline},
        clock=clock,
    )
    await link.close()


async def test_a_hint_right_after_a_look_at_the_lanes_brings_the_next_look_soon(
    world: World, claimer: Claimer, clock: _Clock
):
    room = {world.stages[0]: 5}
    assert await claimer.claim(room) == []
    await world.put(1, lane="of another tenant")
    claimer.turns.forget_dry()
    assert await claimer.claim(room) == [], "so soon after the last look this one waits its turn"
    due = claimer.turns.look_due_seconds()
    assert due is not None
    clock.now += due + 0.001
    assert len(await claimer.claim(room)) == 1
    assert claimer.turns.look_due_seconds() is None


async def test_a_hint_that_meets_the_look_at_the_lanes_asks_for_another(
    world: World, claimer: Claimer, clock: _Clock, monkeypatch: pytest.MonkeyPatch
):
    read = lane_table.served

    async def late(*asked: Any) -> Any:
        found = await read(*asked)
        await world.put(1, lane="of another tenant")
        claimer.turns.forget_dry()
        return found

    monkeypatch.setattr(lane_table, "served", late)
    assert await claimer.claim({world.stages[0]: 5}) == []
    monkeypatch.setattr(lane_table, "served", read)
    clock.now += 0.03
    assert len(await claimer.claim({world.stages[0]: 5})) == 1


async def test_a_lane_that_a_hint_names_while_it_is_found_empty_is_not_taken_for_dry(
    world: World, claimer: Claimer, monkeypatch: pytest.MonkeyPatch
):
    claim = queue.claim
    await world.put(1)
    assert len(await claimer.claim({world.stages[0]: 1})) == 1

    async def late(*asked: Any) -> Any:
        got = await claim(*asked)
        await world.put(1)
        claimer.turns.forget_dry()
        return got

    monkeypatch.setattr(queue, "claim", late)
    assert await claimer.claim({world.stages[0]: 5}) == []
    monkeypatch.setattr(queue, "claim", claim)
    assert len(await claimer.claim({world.stages[0]: 5})) == 1


async def test_what_another_runner_gave_back_is_found_at_once_though_the_lane_was_read_beyond_it(
    world: World, claimer: Claimer
):
    older, _ = await world.put(2)
    other = await world.worker()
    held = await world.claim_one(other)
    room = {world.stages[0]: 5}
    assert len(await claimer.claim(room)) == 1
    await world.release(other, [held], cause=None)
    claimer.turns.forget_dry()
    assert await claimer.claim(room) == [], "what was enqueued is behind where we are"
    claimer.turns.forget_dry(from_front=True)
    assert [one.task_id for one in await claimer.claim(room)] == [older]
