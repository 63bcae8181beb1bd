"""Which index serves each hot statement, pinned on tables in their working state.

A working state: many waiting rows, some leased, statistics taken when nothing was leased, which is what makes the
planner believe that the partial index of leased rows is empty.
"""

import json
from typing import Any

import pytest

from penstock.storage.queries import load
from penstock.storage.queue import FRONT

WAITING = 30_000


@pytest.fixture
async def busy(connection):
    await connection.execute(
        """
        insert into penstock.stages (pipeline, name, position)
        select 'p' || n, 'p' || n, 0 from generate_series(1, 5) n;
        insert into penstock.lanes (pipeline, key) select 'p1', 'lane' || n from generate_series(1, 50) n;
        insert into penstock.jobs (pipeline) values ('p1');
        insert into penstock.tasks (entry, input) select 1, '{"a": 1}' from generate_series(1, 60000);
        insert into penstock.queue (task_id, lane, stage)
            select n, 1 + n % 50, 1 from generate_series(1, 30000) n;
        insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, finished_at)
            select n, 1, 1, 1, case when n % 20 = 0 then 3 else 2 end, 1, 1, now() - n * interval '1 second'
            from generate_series(30001, 60000) n;
        insert into penstock.counts (lane, stage, state, n, folded)
            select 1 + n % 5000, 1, n % 7, 1, true from generate_series(1, 40000) n;
        insert into penstock.counts (lane, stage, state, n) select 1 + n % 50, 1, 0, 1 from generate_series(1, 500) n;
        insert into penstock.attempts (task_id, stage, run, attempt, burned, cause)
            select n, 1, 1, 1, true, 'retry' from generate_series(1, 20000) n;
        insert into penstock.checkpoints (task_id, stage, run) select n, 1, 1 from generate_series(1, 20000) n;
        insert into penstock.workers (supervisor, name, host, pid, version, lease_until)
            select gen_random_uuid(), 'w', 'h', 1, '1', now() + interval '1 hour' from generate_series(1, 300);
        analyze;
        """
    )
    await connection.execute(
        "update penstock.queue set worker = 1 + task_id % 3, lease = task_id where task_id % 60 = 0"
    )
    return connection


async def plan(connection: Any, sql: str, *arguments: Any) -> list[tuple[str, str | None]]:
    """(node type, index) of every node, in a generic plan as a prepared statement has it after a while."""
    await connection.execute("set plan_cache_mode = force_generic_plan")
    transaction = connection.transaction()
    await transaction.start()
    try:
        (row,) = await connection.fetch(f"explain (format json) {sql}", *arguments)
    finally:
        await transaction.rollback()
    nodes: list[tuple[str, str | None]] = []

    def walk(node: dict[str, Any]) -> None:
        table = node.get("Relation Name")
        nodes.append((node["Node Type"] + (f" {table}" if table else ""), node.get("Index Name")))
        for child in node.get("Plans", ()):
            walk(child)

    walk(json.loads(row[0])[0]["Plan"])
    return nodes


def indexes(nodes: list[tuple[str, str | None]]) -> set[str]:
    return {index for _, index in nodes if index}


def scans_all_of(nodes: list[tuple[str, str | None]], *tables: str) -> list[str]:
    return [node for node, _ in nodes if any(node == f"Seq Scan {table}" for table in tables)]


BIG = ("queue", "tasks", "outcomes", "counts", "attempts", "checkpoints")
queue, counts, outcomes, lanes, jobs, tasks, reads = (
    load(n) for n in ("queue", "counts", "outcomes", "lanes", "jobs", "tasks", "reads")
)
checkpoints = load("checkpoints")
at, first = FRONT

HOT = [
    ("claim", queue.claim, ([1], [1], [500], [at], [first], 500, 1), {"queue_ready", "queue_pkey", "tasks_pkey"}),
    (
        "claim of many lanes",
        queue.claim,
        ([1] * 20, list(range(1, 21)), [25] * 20, [at] * 20, [first] * 20, 500, 1),
        {"queue_ready", "queue_pkey", "tasks_pkey"},
    ),
    ("claim by id", queue.claim_by_id, ([1, 2, 3], 1, [1], 0.0, False), {"queue_pkey", "tasks_pkey"}),
    ("finish", queue.finish, ([1, 2], [1, 2], None, None, None, 1, None), {"queue_pkey"}),
    ("settled before", queue.settled_before, ([1, 2], [1, 2]), {"outcomes_pkey"}),
    ("advance", queue.advance, ([1], [1], [1], [2], [None], [None], 1, [None], [False]), {"queue_pkey"}),
    (
        "release",
        queue.release,
        ([1], [1], [None], [True], [False], [False], ["retry"], [None], 1, 3, 10),
        {"queue_pkey", "queue_unique"},
    ),
    ("cancel", queue.cancel, (1, "ann"), {"queue_pkey"}),
    ("note of a hasten", queue.note_hasten, ([1, 60],), {"queue_pkey"}),
    ("what runs of a job", queue.leased_in_job, (1,), {"queue_leased"}),
    ("sweep cancelled", queue.sweep_cancelled, (1000, None), {"queue_ready", "queue_pkey"}),
    ("asked to stop", queue.asked_to_stop, ([1, 2],), {"queue_cancel"}),
    ("asked to wait", queue.asked_to_wait, ([1, 2],), {"queue_leased"}),
    ("count leased", queue.count_leased, ([1],), {"queue_leased"}),
    ("holders gone", queue.holders_gone, (), {"queue_leased"}),
    ("leases of a worker", queue.leases_of, (1, 1000), {"queue_leased"}),
    ("fold counts", counts.fold, (1000,), {"counts_unfolded", "counts_lane"}),
    ("counts of jobs", reads.job_movements, ([1],), {"counts_lane", "queue_leased"}),
    ("reprocess", outcomes.reprocess, ([30001], [2, 3], None, "ann", True), {"outcomes_pkey", "tasks_pkey"}),
    ("finished tasks of a job", jobs.finished_tasks, (1, 2, at, 1000, at, 0), {"outcomes_job"}),
    ("outcomes of tasks", tasks.outcomes_of, ([30001, 30002],), {"outcomes_pkey"}),
    ("history", tasks.history, (1,), {"attempts_task"}),
    ("task", tasks.get, (1,), {"queue_pkey", "tasks_pkey", "outcomes_pkey"}),
    ("earlier results", checkpoints.earlier, ([1], [2], [2], ["1"], 16384, [1]), {"checkpoints_pkey"}),
    ("idle lanes", lanes.lock_idle_candidates, (100, 60.0), {"queue_ready", "queue_leased"}),
]


@pytest.mark.parametrize(("name", "sql", "arguments", "expected"), HOT, ids=[one[0] for one in HOT])
async def test_a_hot_statement_uses_its_index(busy, name, sql, arguments, expected):
    nodes = await plan(busy, sql, *arguments)
    assert expected <= indexes(nodes), nodes
    assert not scans_all_of(nodes, *BIG), nodes


@pytest.mark.parametrize(
    ("name", "sql", "arguments"), [(n, s, a) for n, s, a, _ in HOT if n in ("finish", "advance", "release")]
)
async def test_a_settle_stays_off_the_index_of_leased_rows(busy, name, sql, arguments):
    assert "queue_leased" not in indexes(await plan(busy, sql, *arguments))


async def test_a_claim_does_not_sort(busy):
    nodes = await plan(busy, queue.claim, [1], [1], [500], [at], [first], 500, 1)
    assert not [node for node, _ in nodes if "Sort" in node]
