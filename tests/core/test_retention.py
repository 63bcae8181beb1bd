"""What people submitted is kept until somebody says how long; what programs enqueue one by one is not."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from penstock import Penstock, PermanentError
from penstock.config import Settings
from penstock.control import dead_letters
from penstock.core.jobs import Job
from penstock.storage import duties
from penstock.testing import drain
from penstock.upkeep import duty
from penstock.upkeep.duties import Retention

UNSET = Settings()
SINGLE = "job_id is null"


@pytest.fixture
def half(app: Penstock) -> Any:
    @app.task(name="half")
    async def half(n: int) -> int:
        if n % 2:
            raise PermanentError(f"{n} is odd")
        return n // 2

    return half


async def ended_long_ago(app: Penstock, half: Any) -> Job:
    """A job with an edited row, a job that holds nothing, and two tasks of no job; each class with a failure."""
    job: Job = await half.enqueue_many([{"n": n} for n in range(4)])
    for n in (0, 1):
        await half.enqueue(n)
    await drain(app)
    async with app.connection() as connection:
        failed = await connection.fetchval(
            "select min(task_id) from penstock.outcomes where job_id = $1 and status = 3", job.id
        )
        await dead_letters.edit(app, failed, {"n": 6}, by="ann")
        await drain(app)
        await age(connection)
    return job


async def age(connection: Any, days: int = 400) -> None:
    await connection.execute("update penstock.outcomes set finished_at = now() - $1 * interval '1 day'", days)
    await connection.execute("update penstock.jobs set created_at = now() - $1 * interval '1 day'", days)


async def left(connection: Any, where: str) -> int:
    count: int = await connection.fetchval(f"select count(*) from penstock.tasks where {where}")
    return count


async def test_results_of_jobs_are_kept_until_somebody_sets_a_retention(app, half):
    job = await ended_long_ago(app, half)
    async with app.connection() as connection:
        removed = await Retention(settings=UNSET).run_once(connection)
        assert (removed["tasks"], removed["jobs"]) == (2, 0)
        assert await left(connection, SINGLE) == 0
        # All four rows and the copy of the edited one, whose place in the file the old one keeps.
        assert await left(connection, f"job_id = {job.id}") == 5
        await connection.execute(
            "insert into penstock.preferences (name, value, changed_by) values ('endedItemsDays', '365', 'root')"
        )
        removed = await Retention(settings=UNSET).run_once(connection)
        assert (removed["tasks"], removed["jobs"]) == (5, 1)


@pytest.mark.parametrize("days", [30.0, 365.0])
async def test_a_retention_that_is_set_counts_for_everything_as_before(app, half, days):
    await ended_long_ago(app, half)
    async with app.connection() as connection:
        removed = await Retention(settings=Settings(retention_days=days)).run_once(connection)
        assert (removed["tasks"], removed["jobs"]) == (7, 1)


async def test_dead_letters_may_have_a_retention_while_the_other_results_of_jobs_are_kept(app, half):
    job = await ended_long_ago(app, half)
    async with app.connection() as connection:
        await connection.execute(
            "insert into penstock.preferences (name, value, changed_by) values ('deadLettersDays', '90', 'root')"
        )
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 3
        assert await left(connection, f"job_id = {job.id}") == 4
        assert await left(connection, SINGLE) == 0


async def test_tasks_of_no_job_stay_thirty_days(app, half):
    await ended_long_ago(app, half)
    async with app.connection() as connection:
        await age(connection, 29)
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 0
        await age(connection, 31)
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 2


async def test_a_run_goes_on_where_the_last_one_stopped_instead_of_reading_all_that_is_kept(app, half):
    """Looks behind the place it has reached only where it never looked for what is due there now."""
    await ended_long_ago(app, half)
    async with app.connection() as connection:
        await duties.take(connection, "retention", 60)
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 2
        await half.enqueue(0)
        await drain(app)
        await age(connection, 400)
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 0, "nothing ends in the past"
        await age(connection, 30)
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 1


async def test_a_place_that_was_reached_without_dead_letters_is_not_theirs(app, half):
    await ended_long_ago(app, half)
    async with app.connection() as connection:
        await duties.take(connection, "retention", 60)
        await connection.execute(
            "insert into penstock.preferences (name, value, changed_by) values ('deadLettersDays', '500', 'root')"
        )
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 1
        await connection.execute("delete from penstock.preferences")
        assert (await Retention(settings=UNSET).run_once(connection))["tasks"] == 1
        assert await left(connection, SINGLE) == 0


async def test_a_removal_of_a_package_that_fails_does_not_keep_the_others_from_their_turn(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = EntryPoint("a", "no.such.module:forget", "penstock.retention")
    console = EntryPoint("console", "penstock.console.upkeep:forget", "penstock.retention")
    monkeypatch.setattr(duty, "_registered", lambda group: (broken, console))
    async with app.connection() as connection:
        await connection.execute(
            "insert into penstock.selections (owner, n, estimate, expires_at)"
            " values ('ann', 1, false, now() - interval '999 days')"
        )
        with pytest.raises(ModuleNotFoundError):
            await Retention(settings=UNSET).run_once(connection)
        assert await connection.fetchval("select count(*) from penstock.selections") == 0
