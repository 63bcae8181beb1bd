"""Looking for jobs to call back costs what is open, not what is behind."""

import asyncpg
import pytest

from penstock.storage.queries import load
from tests.storage.test_plans import indexes, plan, scans_all_of

FINISHED = 100_000
OPEN = 1_000
_sql = load("callbacks")


@pytest.fixture
async def long_in_use(connection: asyncpg.Connection) -> asyncpg.Connection:
    """A hundred thousand jobs that have called back, a thousand that wait, and counters of all of them."""
    await connection.execute(
        f"""
        insert into penstock.stages (pipeline, name, position) values ('p', 'p', 0);
        insert into penstock.jobs (pipeline, callback, called_back_at, callback_task)
            select 'p', '{{"pipeline": "p", "arguments": {{}}, "options": {{}}}}',
                   case when n <= {FINISHED} then now() end, case when n <= {FINISHED} then n end
            from generate_series(1, {FINISHED + OPEN}) n;
        insert into penstock.lanes (pipeline, key, job_id) select 'p', 'job:' || id, id from penstock.jobs;
        insert into penstock.counts (lane, stage, state, n, folded)
            select l.id, 1, s.state, 10, true from penstock.lanes l cross join (values (0), (2)) as s (state)
            where s.state = 0 or l.job_id <= {FINISHED} or l.job_id = {FINISHED + OPEN};
        insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run)
            select n, n, n, 1, 2 + n % 2, 1, 1 from generate_series(1, {FINISHED}) n;
        insert into penstock.imports (job_id, file_id, task_id, kind, shape, state)
            select n, n, n, 'csv', '{{}}', 'stored' from generate_series(1, {FINISHED}, 5) n;
        insert into penstock.imports (job_id, file_id, task_id, kind, shape, state)
            select n, n, -n, 'csv', '{{}}', 'storing' from generate_series({FINISHED + 1}, {FINISHED + OPEN - 1}, 5) n;
        analyze;
        """
    )
    return connection


async def test_finished_jobs_cost_nothing(long_in_use: asyncpg.Connection) -> None:
    nodes = await plan(long_in_use, _sql.due, 0, 1000)
    assert {"jobs_to_call_back", "lanes_job", "counts_lane"} <= indexes(nodes), nodes
    assert not scans_all_of(nodes, "jobs", "lanes", "counts", "outcomes", "imports"), nodes
    row = await long_in_use.fetchrow(_sql.due, 0, 1000)
    assert (row["looked"], row["ended"]) == (OPEN, [FINISHED + OPEN])


async def test_a_fire_finds_its_job_by_its_key(long_in_use: asyncpg.Connection) -> None:
    nodes = await plan(long_in_use, _sql.fire, FINISHED + OPEN)
    assert {"jobs_pkey", "lanes_job", "counts_lane"} <= indexes(nodes), nodes
    assert not scans_all_of(nodes, "jobs", "lanes", "counts", "outcomes", "imports"), nodes
