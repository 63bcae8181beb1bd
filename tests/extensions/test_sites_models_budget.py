"""The budget of an analysis: no call is made that could pass it, whoever asks, and whoever dies."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.extensions.sites import budgets, stages
from penstock.extensions.sites.budgets import Budget, BudgetHeld, BudgetSpent, BudgetState
from penstock.extensions.sites.models.asking import budget_note
from penstock.testing import drain
from tests.extensions.model_world import ModelServer, ModelWorld, says, table

JOB = 7


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[Penstock]:
    async with Penstock("test", settings=load(database_url=database_url)) as opened:
        yield opened


async def test_fifty_calls_at_once_on_many_connections_never_pass_the_budget(
    database_url: str, connection: asyncpg.Connection
):
    """Worst case 0.1, real cost 0.03, budget 1: while 0.1 is left another call may go, so 31 go and 19 do not."""
    committed, most_committed, made = 0.0, 0.0, 0

    async def call(budget: Budget, task_id: int) -> None:
        nonlocal committed, most_committed, made
        async with budget.reserved(task_id, 1, 0.1) as one:
            committed += 0.1
            made += 1
            most_committed = max(most_committed, committed)
            await asyncio.sleep(0.005 * (task_id % 5))
            one.spent = 0.03
            committed -= 0.07

    async with AsyncExitStack() as stack:
        opened = []
        for _ in range(3):
            app = await stack.enter_async_context(Penstock("test", settings=load(database_url=database_url)))
            opened.append(await Budget.open(app, JOB, 1.0))
        work = asyncio.gather(*(call(opened[n % 3], n) for n in range(50)), return_exceptions=True)
        seen = [0.0]
        while not work.done():
            seen.append(await connection.fetchval("select spent from website_analysis.budgets where job_id = $1", JOB))
            await asyncio.sleep(0)
        results = await work
    assert sum(isinstance(one, BudgetSpent) for one in results) == 19 and results.count(None) == 31
    assert made == 31 and max(seen) <= 1.0 + 1e-9 and round(most_committed, 9) <= 1.0
    assert await connection.fetchval("select spent from website_analysis.budgets") == pytest.approx(0.93)
    assert await connection.fetchval("select count(*) from website_analysis.reservations") == 0


async def test_a_reservation_may_take_the_last_of_a_budget_and_no_more(connection: asyncpg.Connection):
    await budgets.open_budget(connection, JOB, 0.3)
    costs = (0.1, 0.1, 0.1, 1e-9)
    granted = [
        await budgets.reserve(connection, job_id=JOB, task_id=1, lease=1, cost=cost, most=0.3) is not None
        for cost in costs
    ]
    assert granted == [True, True, True, False]


async def test_a_reservation_that_nobody_settles_counts_as_spent_in_the_end(connection: asyncpg.Connection):
    await budgets.open_budget(connection, JOB, 1.0)
    await budgets.reserve(connection, job_id=JOB, task_id=9, lease=1, cost=0.9, most=1.0)
    assert await budgets.standing(connection, JOB) == BudgetState(most=1.0, spent=0.0, reserved=0.9)
    await connection.execute("update website_analysis.reservations set at = now() - interval '1 hour'")
    assert await budgets.standing(connection, JOB) == BudgetState(most=1.0, spent=0.9, reserved=0.0)


async def test_the_budget_of_a_task_without_a_job_stays_as_long_as_the_task(database_url: str):
    app = Penstock("test", settings=load(database_url=database_url))

    @app.task(name="alone")
    async def alone() -> None: ...

    async with app:
        task = await app.enqueue("alone")
        async with app.connection() as connection:
            for number in (-task.id, -task.id - 1, JOB):
                await budgets.open_budget(connection, number, 1.0)
            await stages.sweep_leftovers(connection)
            left = await connection.fetch("select job_id from website_analysis.budgets")
    assert [row["job_id"] for row in left] == [-task.id]


async def test_three_times_a_third_of_the_budget_fits(app: Penstock):
    budget = await Budget.open(app, JOB, 0.3)
    for _ in range(3):
        async with budget.reserved(1, 1, 0.1) as call:
            call.spent = 0.1
    with pytest.raises(BudgetSpent, match=r"The budget of 0\.3 stopped this call: 0\.3 is spent"):
        async with budget.reserved(1, 1, 1e-9):
            pass


async def test_a_call_that_says_nothing_has_cost_the_worst_case(app: Penstock):
    budget = await Budget.open(app, JOB, 1.0)
    with pytest.raises(ValueError, match="broke"):
        async with budget.reserved(1, 1, 0.25):
            raise ValueError("broke")
    async with budget.reserved(1, 1, 0.25):
        pass
    standing = await budget.standing()
    assert (standing.spent, standing.reserved) == (0.5, 0.0)


HOLDER = """
import asyncio, sys
from penstock import Penstock
from penstock.extensions.sites.budgets import Budget
from penstock.config import load

async def main():
    async with Penstock("test", settings=load(database_url=sys.argv[1])) as app:
        budget = await Budget.open(app, 7, 0.5)
        async with budget.reserved(1, 1, 0.4):
            print("held", flush=True)
            await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_process_that_was_killed_in_a_call_has_spent_its_worst_case(
    database_url: str, app: Penstock, monkeypatch: pytest.MonkeyPatch
):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, database_url, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"held\n"
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    budget = await Budget.open(app, JOB, 0.5)
    standing = await budget.standing()
    assert standing.spent + standing.reserved == 0.4

    # Another site cannot know yet that nobody will end that call: it waits, and burns nothing.
    monkeypatch.setattr("penstock.extensions.sites.budgets._PATIENCE_SECONDS", 0.2)
    with pytest.raises(BudgetHeld):
        async with budget.reserved(2, 5, 0.2):
            pass

    # The same site under a newer lease knows.
    with pytest.raises(BudgetSpent, match=r"0\.4 is spent"):
        async with budget.reserved(1, 2, 0.2):
            pass
    async with budget.reserved(1, 2, 0.1) as call:
        call.spent = 0.1
    assert (await budget.standing()).spent == pytest.approx(0.5)


async def test_a_zombie_that_ends_its_call_after_all_changes_nothing(app: Penstock):
    budget, zombie = await Budget.open(app, JOB, 1.0), await Budget.open(app, JOB, 1.0)
    async with zombie.reserved(1, 1, 0.4) as late:
        async with budget.reserved(1, 2, 0.1) as call:
            call.spent = 0.05
        late.spent = 0.01
    standing = await budget.standing()
    assert standing.spent == pytest.approx(0.45) and standing.reserved == 0.0


async def test_a_reservation_older_than_any_call_counts_as_spent(app: Penstock, connection: asyncpg.Connection):
    budget = await Budget.open(app, JOB, 1.0)
    assert await budgets.reserve(connection, job_id=JOB, task_id=9, lease=1, cost=0.9, most=1.0)
    await connection.execute("update website_analysis.reservations set at = now() - interval '1 hour'")
    with pytest.raises(BudgetSpent):
        async with budget.reserved(1, 1, 0.2):
            pass


async def test_an_interrupted_call_stays_reserved(app: Penstock):
    budget = await Budget.open(app, JOB, 1.0)
    begun = asyncio.Event()

    async def call() -> None:
        async with budget.reserved(1, 1, 0.3):
            begun.set()
            await asyncio.sleep(60)

    running = asyncio.create_task(call())
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await budget.standing()).reserved == 0.3


async def test_a_larger_budget_of_a_later_run_counts_what_was_spent(app: Penstock):
    async with (await Budget.open(app, JOB, 0.1)).reserved(1, 1, 0.1) as call:
        call.spent = 0.1
    larger = await Budget.open(app, JOB, 0.25)
    assert (await larger.standing()).most == 0.25
    async with larger.reserved(1, 2, 0.1) as call:
        call.spent = 0.1
    with pytest.raises(BudgetSpent):
        async with larger.reserved(1, 2, 0.1):
            pass


async def test_with_budget_0_no_priced_call_is_made_and_free_models_still_answer(database_url: str, tmp_path: Path):
    async with ModelServer(lambda called: says("fine")) as server:
        tables = [table("dear", server.url, output_price=1.0), table("free", server.url)]
        async with ModelWorld(database_url, tmp_path, tables) as world:
            task = await world.ask(["a", "b", "c"], ["dear", "free"], budget=0.0)
            assert (await drain(world.app)).done == 1
            given = world.given[task]
            assert {call.body["model"] for call in server.calls} == {"free-large"}
            assert [one.text for one in given] == [None] * 3 + ["fine"] * 3
            assert all("The budget of 0 stopped this call" in (one.problem or "") for one in given[:3])
            assert (budget_note(given) or "").startswith("3 calls were not made")
            assert (await world.stored(task))[0].details["stopped_by"] == "budget"
            assert await world.spent() == [0.0]


async def test_the_budget_stops_before_the_call_that_would_pass_it(database_url: str, tmp_path: Path):
    """Worst case about 0.1 a call, real cost 0.01, budget 0.15: calls go on while a worst case is left."""
    async with ModelServer(lambda called: says("fine", tokens_in=0, tokens_out=10)) as server:
        tables = [table("dear", server.url, output_price=1000.0, max_tokens=100)]
        async with ModelWorld(database_url, tmp_path, tables) as world:
            task = await world.ask([f"prompt {number}" for number in range(20)], ["dear"], budget=0.15)
            assert (await drain(world.app)).done == 1
            assert len(server.calls) == 6
            assert [one.text for one in world.given[task]].count("fine") == 6
            assert (await world.spent())[0] == pytest.approx(0.06)


async def test_models_without_a_price_never_touch_the_budget(database_url: str, tmp_path: Path):
    async with ModelServer(lambda called: says("fine")) as server:
        async with ModelWorld(database_url, tmp_path, [table("free", server.url)]) as world:
            await world.ask(["a"], ["free"], budget=0.0)
            await drain(world.app)
            [sequence] = await world.fetch("select is_called from website_analysis.reservations_id_seq")
            assert not sequence["is_called"] and await world.spent() == [0.0]
