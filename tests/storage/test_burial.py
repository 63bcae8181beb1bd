"""What a supervisor says about tasks of a dead runner: what it saw die has crashed, what it ended itself has not."""

from typing import Any, cast

import pytest

from penstock.config import load
from penstock.events import Events
from penstock.fleet.runner_process import RunnerProcess, give_back
from penstock.model import Claimed
from penstock.workers.slots import Running
from tests.storage.world import World


class Dead:
    """A runner process that is over, as its supervisor has it in hand."""

    def __init__(self, worker: int, ran: Claimed, *, killed_for: str | None = None) -> None:
        self.worker = worker
        self.killed_for = killed_for
        self.lapsed = self.failed = False
        self.overdue: list[Running] = []
        self.slots = self
        self._ran = ran

    def running(self) -> list[Running]:
        return [Running(slot=0, task_id=self._ran.task_id, lease=self._ran.lease, started_ns=1, deadline_ns=0)]

    def how_it_ended(self) -> str:
        return "signal SIGSEGV"


class Mute:
    """Statements arrive, and the answer to one that writes does not: the line was cut in between."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *arguments: Any) -> Any:
        answer = await self._connection.fetch(sql, *arguments)
        if "update penstock.queue" in sql:
            raise ConnectionResetError("the line was cut")
        return answer


async def bury(connection: Any, runner: Dead) -> int:
    settings = load(database_url="postgresql://nobody@nowhere/none")
    return await give_back(
        connection, cast("RunnerProcess", runner), settings=settings, events=Events(), stopping=False
    )


async def test_a_burial_whose_answer_is_lost_burns_one_attempt(world: World):
    ran, waited = await world.put(2)
    a = await world.worker()
    held = {one.task_id: one for one in await world.claim(a)}
    runner = Dead(a, held[ran])
    with pytest.raises(ConnectionResetError):
        await bury(Mute(world.connection), runner)
    assert await bury(world.connection, runner) == 0, "the first one was stored"
    for task, burned in ((ran, 1), (waited, 0)):
        row = await world.row(task)
        assert (row["worker"], row["attempt"], row["crashes"]) == (None, burned, burned)


async def test_a_burial_whose_answer_is_lost_takes_nothing_from_who_has_the_task_by_now(world: World):
    task = await world.put_one()
    a, b = await world.worker(), await world.worker()
    runner = Dead(a, await world.claim_one(a))
    with pytest.raises(ConnectionResetError):
        await bury(Mute(world.connection), runner)
    again = await world.claim_one(b)
    assert await bury(world.connection, runner) == 0
    assert ((await world.row(task))["worker"], again.crashes) == (b, 1)


async def test_a_runner_that_was_ended_because_the_database_was_away_burns_nothing(world: World):
    task = await world.put_one()
    a = await world.worker()
    runner = Dead(a, await world.claim_one(a), killed_for="the database did not answer before the lease ended")
    assert await bury(world.connection, runner) == 1
    row = await world.row(task)
    assert (row["worker"], row["attempt"], row["crashes"], row["rescues"]) == (None, 0, 0, 0)
