"""A task is woken after it looked and before its snooze is stored: it must not sleep through what it waits for."""

import asyncio

import pytest

from penstock import NotFound, Penstock, Snooze
from penstock.control import jobs
from penstock.testing import drain

_LONG_SECONDS = 3600.0


class Gate:
    """What three tasks wait for, and which of them looked, in order."""

    def __init__(self) -> None:
        self.open = False
        self.looks: list[int] = []
        self.looked = asyncio.Event()
        self.go_on = asyncio.Event()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def waits(app: Penstock, gate: Gate):
    @app.task(pool=10)
    async def waits(n: int, not_found: bool = False) -> object:
        gate.looks.append(n)
        if gate.open:
            return n
        if len(gate.looks) >= 3:
            gate.looked.set()
        await gate.go_on.wait()
        return NotFound("not yet", again_after=_LONG_SECONDS) if not_found else Snooze(_LONG_SECONDS, "not yet")

    return waits


@pytest.mark.parametrize("not_found", [False, True])
@pytest.mark.parametrize("chosen", ["these tasks", "the whole job"])
async def test_tasks_that_are_hastened_between_their_look_and_their_snooze_look_again_at_once(
    app: Penstock, working, gate: Gate, waits, chosen: str, not_found: bool
):
    job = await waits.enqueue_many([{"n": n, "not_found": not_found} for n in range(3)])
    async with working():
        await gate.looked.wait()
        gate.open = True
        async with app.connection() as connection:
            rows = await connection.fetch("select id from penstock.tasks where job_id = $1", job.id)
        ids = [row["id"] for row in rows] if chosen == "these tasks" else None
        assert await jobs.hasten(app, job.id, by="ann", task_ids=ids) == 0, "none of them waits yet"
        gate.go_on.set()
        counts = await job.wait(60)
    assert counts.done == 3
    assert sorted(gate.looks) == [0, 0, 1, 1, 2, 2]


async def test_a_hasten_is_for_one_run_and_the_next_snooze_is_slept(app: Penstock):
    looks = []

    @app.task()
    async def waits() -> Snooze:
        looks.append("not yet")
        if len(looks) == 1:
            await jobs.hasten(app, job.id, by="ann")
        return Snooze(_LONG_SECONDS)

    job = await waits.enqueue_many([{}])
    drained = await drain(app)
    assert (drained.runs, drained.waiting) == (2, 1)


async def test_a_hasten_does_not_cut_the_backoff_of_a_run_that_fails(app: Penstock):
    @app.task()
    async def fails() -> None:
        await jobs.hasten(app, job.id, by="ann")
        raise RuntimeError("as asked")

    job = await fails.enqueue_many([{}])
    drained = await drain(app)
    assert (drained.runs, drained.waiting) == (1, 1)
