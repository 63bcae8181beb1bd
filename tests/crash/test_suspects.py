"""A task under which a process died waits to run alone. Its wake-up must not get lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.core.define import define_stage
from penstock.core.run import RunningStage
from penstock.core.stage import Stage
from penstock.failpoints import Failpoints
from penstock.model import Claimed, Settlement
from penstock.workers.coordinator import Coordinator
from penstock.workers.inbox import Held, Inbox
from penstock.workers.pool import Pool
from penstock.workers.slots import Slots
from tests.crash.isolated_calls import Told


class World:
    """Two stages of one processor each, as a runner puts them together; the leases hold when ``safe`` says so."""

    def __init__(self) -> None:
        self.safe = True
        self.begun: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}
        held = Held()
        self.inboxes = {stage: Inbox(held=held, size=10) for stage in (1, 2)}
        self._slots = Slots.create(2)
        self._slots.safe = lambda: self.safe
        self.pools = [self._pool(stage) for stage in (1, 2)]
        self.coordinator = Coordinator(pools={pool.stage.id: pool for pool in self.pools}, inboxes=self.inboxes)
        self.moments: Any = SimpleNamespace(coordinator=self.coordinator, ended=self._ended)

    def _pool(self, stage: int) -> Pool:
        async def handler(number: int) -> None:
            self.begun.append(number)
            await self.gates.setdefault(number, asyncio.Event()).wait()

        definition = define_stage(handler, pipeline=f"p{stage}", name=f"p{stage}", position=0)
        return Pool(
            running=RunningStage(
                Stage(id=stage, definition=definition, pool=1, timeout_seconds=300, max_result_bytes=1000), Told()
            ),
            first_slot=stage - 1,
            slots=self._slots,
            failpoints=Failpoints(),
        )

    def _ended(self, claimed: Claimed, settlement: Settlement | None, took_seconds: float) -> None:
        self.coordinator.ended()

    def give(self, stage: int, number: int, *, crashes: int = 0, rescues: int = 0) -> None:
        claimed = Claimed.of(
            task_id=number,
            lease=number,
            stage=stage,
            crashes=crashes,
            rescues=rescues,
            input=f'{{"number": {number}}}',
        )
        assert self.inboxes[stage].offer([claimed], {}) == []
        self.coordinator.run_once()

    async def until_begun(self, *numbers: int) -> None:
        await until(lambda: self.begun == list(numbers))

    async def close(self) -> None:
        for pool in self.pools:
            await pool.stop()
        self._slots.close(remove=True)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    for pool in made.pools:
        pool.start(made.moments)
    await until(lambda: all(pool.idle_count for pool in made.pools))
    yield made
    await made.close()


async def _suspect_woken_in_doubt(world: World) -> None:
    """Task 1 runs, the suspect 2 waits for it in the other stage; 1 ends while the leases are in doubt."""
    world.give(1, 1)
    await world.until_begun(1)
    world.give(2, 2, crashes=1)
    await until(lambda: world.coordinator.suspect is not None and world.pools[1].idle_count)
    world.safe = False
    world.gates[1].set()
    await until(lambda: all(pool.idle_count for pool in world.pools) and world.coordinator.running == 0)
    assert world.begun == [1]


async def test_a_suspect_woken_while_the_leases_were_in_doubt_starts_when_they_hold_again(world: World) -> None:
    await _suspect_woken_in_doubt(world)
    world.safe = True
    assert world.pools[1].take_held_back(), "the runner has to learn that a wake-up is owed"
    assert world.coordinator.run_once() == 1
    await world.until_begun(1, 2)


async def test_what_waits_behind_a_suspect_starts_after_it(world: World) -> None:
    await _suspect_woken_in_doubt(world)
    world.give(1, 3)
    world.safe = True
    world.coordinator.run_once()
    await world.until_begun(1, 2)
    world.gates[2].set()
    await world.until_begun(1, 2, 3)


async def test_a_suspect_is_not_woken_while_others_run(world: World) -> None:
    world.give(1, 1)
    await world.until_begun(1)
    world.give(2, 2, crashes=1)
    await until(lambda: world.coordinator.suspect is not None)
    assert world.coordinator.run_once() == 0
    world.gates[1].set()
    await world.until_begun(1, 2)


@pytest.mark.parametrize(("rescues", "alone"), [(4, False), (5, True)])
async def test_halfway_to_the_rescue_limit_a_task_runs_alone(world: World, rescues: int, alone: bool) -> None:
    """It may be what takes machines down, and its neighbours with it."""
    world.give(1, 1)
    await world.until_begun(1)
    world.give(2, 2, rescues=rescues)
    if alone:
        await until(lambda: world.coordinator.suspect is not None)
        world.gates[1].set()
    await world.until_begun(1, 2)


async def test_a_wake_up_is_owed_once(world: World) -> None:
    world.safe = False
    world.give(1, 1)
    await until(lambda: world.pools[0].idle_count)
    assert [world.pools[0].take_held_back() for _ in range(2)] == [True, False]
