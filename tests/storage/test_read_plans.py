"""The plans of the read side, on tables in their working state: many finished tasks, a backlog, a few leases.

A plan is judged by the rows it touches, not by its name alone: whatever the planner picks, a page must not read
more than its window.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from penstock.lifecycle import State
from penstock.storage import dead_letters, reads, stages
from penstock.storage.dead_letters import DeadLetterFilter
from penstock.storage.queries import load
from penstock.storage.reads import NEWEST, Place, TaskFilter
from penstock.storage.stages import Declared

TASKS = 30_000
FINISHED = 20_000
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)

_FILL = """
insert into penstock.lanes (pipeline, key, job_id)
    select case when n % 2 = 0 then 'mail' else 'index' end, 'job:' || n, n from generate_series(1, 50) n;
insert into penstock.tasks (id, entry, job_id, owner, input)
    select n, 2 - n % 2, 1 + n % 50, null, jsonb_build_object('n', n) from generate_series(1, {tasks}) n;
insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, finished_at, error)
    select n, 1 + n % 50, 1 + n % 50, 2 - n % 2, case when n % 100 = 0 then 3 else 2 end, 1, 1,
           now() - ({tasks} - n) * interval '1 second', '{{"type": "ValueError", "message": "bad"}}'
    from generate_series(1, {finished}) n;
insert into penstock.queue (task_id, lane, stage, worker, lease, run_at)
    select n, 1 + n % 50, 2 - n % 2, case when n > {tasks} - 200 then 1 end, n, now() - interval '1 hour'
    from generate_series({finished} + 1, {tasks}) n;
insert into penstock.counts (lane, stage, state, n, folded)
    select 1 + n % 50, 2 - n % 2, s, 1200, true from generate_series(0, 49) n cross join unnest(array[0, 2]) s;
select setval(pg_get_serial_sequence('penstock.tasks', 'id'), {tasks});
"""


async def _fill(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for pipeline in ("mail", "index"):
            declared = Declared(name=pipeline, position=0, max_attempts=3, max_running=None, policy="{}")
            await stages.register(connection, pipeline, [declared])
        await connection.execute(_FILL.format(tasks=TASKS, finished=FINISHED))
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def filled_url(module_database_url: str) -> str:
    """Filled once: the tests here read, or add a little that the others do not see."""
    asyncio.run(_fill(module_database_url))
    return module_database_url


@pytest.fixture
async def filled(filled_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(filled_url)
    # What a connection uses after some calls of a prepared statement: the plan for any values.
    await connection.execute("set plan_cache_mode = force_generic_plan")
    yield connection
    await connection.close()


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


async def touched(connection: asyncpg.Connection, query: str, *values: Any) -> tuple[dict[str, int], set[str]]:
    """Rows read per table (kept and thrown away), and the indexes used."""
    text = await connection.fetchval(f"explain (analyze, format json) {query}", *values)
    rows: dict[str, int] = {}
    indexes: set[str] = set()
    for node in nodes(json.loads(text)[0]["Plan"]):
        loops = node.get("Actual Loops", 1)
        if (table := node.get("Relation Name")) is not None:
            read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * loops
            rows[table] = rows.get(table, 0) + int(read)
        if "Index Name" in node:
            indexes.add(node["Index Name"])
    return rows, indexes


async def test_the_newest_tasks_are_read_from_the_end_of_the_primary_key(filled: asyncpg.Connection) -> None:
    rows, indexes = await touched(filled, load("reads").newest, 25_000, 50, None, None, 50)
    assert rows["tasks"] <= 50
    assert "tasks_pkey" in indexes


async def test_a_filter_reads_its_window_and_no_more(filled: asyncpg.Connection) -> None:
    rows, _ = await touched(filled, load("reads").newest, NEWEST, 10_000, "mail", None, 50)
    assert rows["tasks"] <= 10_000


async def test_a_jobs_tasks_come_from_its_own_index(filled: asyncpg.Connection) -> None:
    rows, indexes = await touched(filled, load("reads").newest_of_job, 25_000, 50, None, None, 50, 7)
    assert rows["tasks"] <= 50
    assert "tasks_job" in indexes


async def test_waiting_tasks_are_the_fronts_of_their_lanes(filled: asyncpg.Connection) -> None:
    rows, indexes = await touched(filled, load("reads").waiting, EARLIEST, 0, 20, None, None, None)
    assert rows["queue"] <= 50 * 20
    assert "queue_ready" in indexes


async def test_running_tasks_are_read_from_the_leased_rows_only(filled: asyncpg.Connection) -> None:
    rows, _ = await touched(filled, load("reads").running, NEWEST, 50, None, None, None)
    assert rows["queue"] <= 200


async def test_a_jobs_endings_of_one_state_come_in_order(filled: asyncpg.Connection) -> None:
    rows, indexes = await touched(filled, load("reads").finished_of_job, 7, int(State.DONE), LATEST, NEWEST, 50)
    assert rows["outcomes"] <= 50
    assert indexes == {"outcomes_job"}


async def test_endings_over_all_jobs_read_a_window(filled: asyncpg.Connection) -> None:
    rows, _ = await touched(filled, load("reads").finished, NEWEST, 10_000, None, None, 50, int(State.DONE))
    assert rows["outcomes"] <= 10_000


async def test_the_rows_of_a_page_are_looked_up_by_their_ids(filled: asyncpg.Connection) -> None:
    ids = [*range(100, 150), *range(25_000, 25_050)]
    rows, indexes = await touched(filled, load("reads").task_rows, ids)
    assert {"tasks_pkey", "queue_pkey", "outcomes_pkey"} <= indexes
    assert rows["tasks"] <= 4 * len(ids)
    assert rows["queue"] + rows["outcomes"] <= 2 * len(ids)


@pytest.mark.parametrize("name", ["oldest", "newest"])
async def test_a_page_over_many_jobs_looks_at_each_once_and_reads_on_in_few(
    filled: asyncpg.Connection, name: str
) -> None:
    """The 5 first of 50 jobs lie in the 5 whose first item comes first."""
    place = (EARLIEST, 0) if name == "oldest" else (LATEST, NEWEST)
    jobs, states = list(range(1, 51)), [int(State.PENDING), int(State.ERROR)]
    rows, indexes = await touched(filled, getattr(load("items"), name), jobs, states, *place, 5, EARLIEST, LATEST)
    assert {"queue_listed", "outcomes_job"} <= indexes
    assert rows["queue"] <= 50 + 5 * 5
    assert rows["outcomes"] <= 50 + 5 * 5


async def test_retention_does_not_read_what_is_kept_for_ever(filled: asyncpg.Connection) -> None:
    """All ended tasks belong to jobs; what became due since the last run is a small part of them."""
    since = await filled.fetchval("select now() - interval '20300 seconds'")
    values = (None, None, 1000, 20_000.0, since, LATEST)
    rows, indexes = await touched(filled, load("outcomes").expire, *values)
    assert "outcomes_age" in indexes
    assert rows.get("outcomes", 0) < FINISHED // 2


async def test_dead_letters_are_read_from_their_partial_index(filled: asyncpg.Connection) -> None:
    values = (LATEST, NEWEST, EARLIEST, 20, None, None, None, 20, None)
    rows, indexes = await touched(filled, load("dead_letters").page, *values)
    assert "outcomes_dead" in indexes
    assert rows["outcomes"] <= 20 * 2


async def test_the_load_of_the_stages_probes_the_queue_and_does_not_count_it(filled: asyncpg.Connection) -> None:
    rows, _ = await touched(filled, load("reads").stage_load)
    assert rows["queue"] <= 200 + 2 * 50
    assert "tasks" not in rows


async def test_the_position_of_a_task_is_one_lookup_per_table(filled: asyncpg.Connection) -> None:
    rows, _ = await touched(filled, load("reads").position, 25_000)
    assert max(rows[table] for table in ("tasks", "queue")) <= 1


async def test_what_waits_for_another_release_is_read_from_an_index_that_holds_little_else(
    filled: asyncpg.Connection,
) -> None:
    transaction = filled.transaction()
    await transaction.start()
    await filled.execute(
        """insert into penstock.attempts (task_id, at, stage, run, attempt, burned, cause, next_run_at)
           select q.task_id, now() - interval '20 minutes', q.stage, 1, 1, false,
                  case when q.task_id % 1000 = 0 then 'version skew' else 'retry' end, q.run_at
           from penstock.queue q where q.worker is null"""
    )
    await filled.execute("analyze penstock.attempts")
    rows, indexes = await touched(filled, load("reads").skewed, 600.0)
    assert rows["attempts"] <= 2 * 10
    assert rows["queue"] <= 10
    assert "attempts_version_skew" in indexes
    await transaction.rollback()


async def test_what_is_ahead_in_a_lane_is_counted_up_to_a_bound(filled: asyncpg.Connection) -> None:
    rows, indexes = await touched(filled, load("reads").ahead_in_lane, 2, 2, LATEST, NEWEST, 100)
    assert rows["queue"] <= 100
    assert "queue_ready" in indexes


async def test_pages_show_every_task_once_while_others_arrive(filled: asyncpg.Connection) -> None:
    """Keyset pages: what is new stands before the first page, never inside a later one."""
    wanted = TaskFilter(job_id=7)
    expected = [
        row["id"] for row in await filled.fetch("select id from penstock.tasks where job_id = 7 order by id desc")
    ]
    seen: list[int] = []
    place: Place | None = None
    while True:
        page = await reads.task_page(filled, wanted, after=place, limit=400)
        seen += [row.task_id for row in page.rows]
        await filled.execute("insert into penstock.tasks (entry, job_id, input) values (1, 7, '{}')")
        if (place := page.next) is None:
            break
    assert seen == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (TaskFilter(state=State.PENDING), "select task_id from penstock.queue where worker is null"),
        (TaskFilter(state=State.PROCESSING), "select task_id from penstock.queue where worker is not null"),
        (TaskFilter(state=State.ERROR), "select task_id from penstock.outcomes where status = 3"),
        (
            TaskFilter(state=State.DONE, job_id=7),
            "select task_id from penstock.outcomes where job_id = 7 and status = 2",
        ),
        (
            TaskFilter(state=State.PENDING, pipeline="mail", job_id=8),
            "select task_id from penstock.queue where lane = 8 and worker is null",
        ),
    ],
)
async def test_the_pages_of_a_state_add_up_to_its_tasks(
    filled: asyncpg.Connection, wanted: TaskFilter, expected: str
) -> None:
    seen: list[int] = []
    place: Place | None = None
    while True:
        page = await reads.task_page(filled, wanted, after=place, limit=1000)
        seen += [row.task_id for row in page.rows]
        if (place := page.next) is None:
            break
    assert len(seen) == len(set(seen))
    assert sorted(seen) == sorted(row["task_id"] for row in await filled.fetch(expected))


async def test_pages_of_dead_letters_with_a_rare_filter_end_and_lose_nothing(filled: asyncpg.Connection) -> None:
    await filled.execute(
        """update penstock.outcomes set error = '{"type": "Rare"}' where task_id in (100, 10000, 20000)"""
    )
    place, seen = None, []
    while True:
        page = await dead_letters.page(filled, DeadLetterFilter(error_type="Rare"), after=place, limit=2)
        seen += [row.task_id for row in page.rows]
        if (place := page.next) is None:
            break
    assert seen == [20_000, 10_000, 100]


ALL_STATES = [int(state) for state in State]


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_a_page_of_items_reads_a_page_of_each_state_and_no_more(filled: asyncpg.Connection, order: str) -> None:
    start = (LATEST, NEWEST) if order == "newest" else (EARLIEST, 0)
    values = ([7], ALL_STATES, *start, 50, EARLIEST, LATEST)
    rows, indexes = await touched(filled, getattr(load("items"), order), *values)
    assert rows["outcomes"] <= 50 * 5
    assert rows["queue"] <= 50 + 200
    assert {"outcomes_job", "queue_listed"} <= indexes


async def test_what_an_item_list_shows_is_looked_up_by_ids(filled: asyncpg.Connection) -> None:
    ids = [*range(100, 150), *range(25_000, 25_050)]
    rows, indexes = await touched(filled, load("items").rows, ids)
    assert {"tasks_pkey", "queue_pkey", "outcomes_pkey"} <= indexes
    assert rows["tasks"] <= 2 * len(ids)


async def test_a_row_of_a_file_is_found_by_halving(filled: asyncpg.Connection) -> None:
    rows, indexes = await touched(filled, load("items").at_or_after, 7, 20_000)
    assert rows["tasks"] <= 1
    assert "tasks_job" in indexes


async def test_a_copy_far_behind_its_job_costs_nothing_where_nobody_wants_it(filled: asyncpg.Connection) -> None:
    """Job 77 has 2,000 rows, then 25,000 of another job were stored, then one of its rows was edited."""
    left_as_it_was = filled.transaction()
    await left_as_it_was.start()
    try:
        await filled.execute(
            """insert into penstock.jobs (id, pipeline) overriding system value values (77, 'mail'), (78, 'mail');
               insert into penstock.tasks (entry, job_id, input)
                   select 1, 77, jsonb_build_object('row', n, 'cells', '[]'::jsonb) from generate_series(1, 2000) n;
               insert into penstock.tasks (entry, job_id, input) select 1, 78, '{}' from generate_series(1, 25000);
               insert into penstock.tasks (entry, job_id, input, replaces)
                   select 1, 77, input, id from penstock.tasks where job_id = 77 and input ->> 'row' = '7';
               analyze penstock.tasks"""
        )
        last = await filled.fetchval("select max(id) from penstock.tasks where job_id = 77")
        bounds = await filled.fetchrow(load("items").bounds, 77)
        assert bounds["last"] - bounds["first"] == 1999
        rows, indexes = await touched(filled, load("items").bounds, 77)
        assert (rows["tasks"] <= 3, indexes) == (True, {"tasks_job"})
        rows, indexes = await touched(filled, load("exports", "penstock.console.storage").edits, 77, last)
        assert (rows["tasks"] <= 2, "tasks_edited" in indexes) == (True, True)
        rows, _ = await touched(filled, load("items").by_row, 77, bounds["last"] - 5, 50)
        assert rows["tasks"] <= 7
    finally:
        await left_as_it_was.rollback()


async def test_a_page_of_jobs_reads_a_window_of_its_owner(filled: asyncpg.Connection) -> None:
    left_as_it_was = filled.transaction()
    await left_as_it_was.start()
    try:
        await filled.execute(
            """insert into penstock.jobs (pipeline, name, owner)
               select 'mail', 'job ' || n, 'user ' || n % 100 from generate_series(1, 20000) n"""
        )
        await filled.execute("analyze penstock.jobs")
        values = (NEWEST, 50, 50, None, None, None, None)
        rows, indexes = await touched(filled, load("job_lists").newest, *values)
        assert rows["jobs"] <= 50
        assert "jobs_pkey" in indexes
        rows, indexes = await touched(filled, load("job_lists").newest_of_owner, *values, "user 7")
        assert rows["jobs"] <= 50
        assert "jobs_owner" in indexes
    finally:
        await left_as_it_was.rollback()


async def test_how_a_job_went_is_read_from_the_ends_of_its_index(filled: asyncpg.Connection) -> None:
    for query, values, most in (("ends", (7,), 10), ("minutes", (7, 100), 200), ("paces", ([7], 100), 200)):
        rows, indexes = await touched(filled, getattr(load("job_lists"), query), *values)
        assert rows.get("outcomes", 0) <= most, query
        assert rows.get("outcomes", 0) == 0 or indexes >= {"outcomes_job"}, query


async def test_what_a_job_waits_for_is_the_front_of_its_lanes(filled: asyncpg.Connection) -> None:
    rows, indexes = await touched(filled, load("job_lists").heads, [7, 8, 9])
    assert rows["queue"] <= 3
    assert "queue_ready" in indexes


@pytest.mark.parametrize("name", ["of_job_backwards", "of_job_forwards"])
async def test_a_group_of_errors_is_looked_for_in_the_index_of_its_job(filled: asyncpg.Connection, name: str) -> None:
    place = (LATEST, NEWEST) if name == "of_job_backwards" else (EARLIEST, 0)
    query = getattr(load("error_groups"), name)
    rows, indexes = await touched(filled, query, 1, *place, EARLIEST, LATEST, 50, 300)
    assert 0 < rows["outcomes"] <= 50
    assert indexes == {"outcomes_job"}
