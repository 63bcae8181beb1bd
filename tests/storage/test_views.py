"""The views that other people's SQL reads: documented, cheap, and all that the console and the extensions need."""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from penstock.lifecycle import JobState, State
from penstock.storage import limits
from penstock.storage.migrate import schemas
from penstock.storage.queries import load
from tests.databases import BUNDLED
from tests.storage.world import World

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

PAGE = (ROOT / "docs/views.md").read_text("utf-8")
SOURCE = ROOT / "src" / "penstock"

_COLUMNS = """
select c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where c.relkind = 'v' and c.relnamespace = 'penstock'::regnamespace
order by c.relname, a.attnum
"""


async def test_the_page_lists_every_view_with_its_columns(connection: asyncpg.Connection):
    documented = []
    for section in PAGE.split("\n## `penstock.")[1:]:
        view, _, text = section.partition("`\n")
        documented += [(view, *row) for row in re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", text, re.MULTILINE)]
    there = [tuple(row) for row in await connection.fetch(_COLUMNS)]
    assert sorted(documented) == sorted(there)
    for view in {name for name, _, _ in there}:
        assert [row for row in documented if row[0] == view] == [row for row in there if row[0] == view]


async def test_states_have_the_names_of_the_lifecycle(connection: asyncpg.Connection):
    for state in State:
        assert await connection.fetchval("select penstock.state_name($1)", state) == state.name


@pytest.mark.parametrize(
    ("ended", "worker", "lane_cancelled", "state"),
    [
        (None, None, False, State.PENDING),
        (None, 7, False, State.PROCESSING),
        # It ends as its worker says, whatever was decided about its lane.
        (None, 7, True, State.PROCESSING),
        (None, None, True, State.CANCELLED),
        *((state, None, False, state) for state in State if state.finished),
        (State.DONE, 7, True, State.DONE),
    ],
)
async def test_one_function_decides_the_state_of_a_task(
    connection: asyncpg.Connection, ended: State | None, worker: int | None, lane_cancelled: bool, state: State
):
    found = await connection.fetchval(
        "select penstock.task_state($1, $2, case when $3 then now() end)", ended, worker, lane_cancelled
    )
    assert State(found) is state


async def test_a_stage_and_its_counters_hold_what_was_put_there(world: World):
    worker = await world.worker()
    await world.put(6)
    claimed = await world.claim(worker, 3)
    await world.finish(worker, claimed[:1])
    await world.finish(worker, claimed[1:2], State.ERROR)
    load = await world.connection.fetchrow("select running, unfinished, served, paused from penstock.stage_load")
    assert tuple(load) == (1, 4, True, False)
    counts = await world.connection.fetchrow(
        """
        select sum(unfinished), sum(ended), sum(kept), sum(ended) filter (where status = 3)
        from penstock.task_counts where pipeline = $1 and stage = 'only'""",
        world.pipeline,
    )
    assert tuple(counts) == (4, 2, 2, 1)
    await world.end_lease(worker)
    assert not await world.connection.fetchval("select served from penstock.stage_load")


@pytest.mark.parametrize(
    ("decided", "claimed", "ended", "put", "state"),
    [
        ("created", 0, (), 0, JobState.QUEUED),
        ("created", 0, (), 2, JobState.QUEUED),
        ("created", 1, (), 2, JobState.RUNNING),
        ("created", 1, (State.DONE,), 2, JobState.RUNNING),
        ("created", 2, (State.DONE, State.NOT_FOUND), 2, JobState.DONE),
        ("created", 2, (State.DONE, State.ERROR), 2, JobState.FAILED),
        # It called back, so its last task has ended, whatever retention removed since.
        ("called_back", 0, (), 0, JobState.DONE),
        ("paused", 1, (State.DONE,), 2, JobState.PAUSED),
        ("paused", 2, (State.DONE, State.DONE), 2, JobState.DONE),
        ("cancelled", 2, (State.DONE,), 3, JobState.CANCELLED),
    ],
)
async def test_the_state_of_a_job_follows_from_its_tasks_and_from_what_was_decided(
    world: World, decided: str, claimed: int, ended: tuple[State, ...], put: int, state: JobState
):
    worker = await world.worker()
    job = await world.connection.fetchval(
        "insert into penstock.jobs (pipeline) values ($1) returning id", world.pipeline
    )
    await world.connection.execute("update penstock.lanes set job_id = $1", job)
    await world.put(put)
    for one, outcome in zip(await world.claim(worker, claimed), ended, strict=False):
        await world.finish(worker, [one], outcome)
    await world.connection.execute(f"update penstock.jobs set {decided}_at = now()")
    row = await world.connection.fetchrow("select * from penstock.job_states where job_id = $1", job)
    assert JobState[row["state"]] is state
    running = claimed - len(ended)
    cancelled = put - claimed if state is JobState.CANCELLED else 0
    assert (row["total"], row["processing"], row["cancelled"]) == (put, running, cancelled)
    assert row["pending"] == put - claimed - cancelled
    assert row["done"] + row["error"] + row["not_found"] == len(ended)


async def test_a_job_is_not_done_while_rows_of_its_file_are_stored(world: World):
    worker = await world.worker()
    job = await world.connection.fetchval(
        "insert into penstock.jobs (pipeline) values ($1) returning id", world.pipeline
    )
    await world.connection.execute("update penstock.lanes set job_id = $1", job)
    await world.connection.execute(
        "insert into penstock.imports (job_id, file_id, kind, shape) values ($1, 1, 'csv', '{}')", job
    )
    await world.put_one()
    await world.finish(worker, [await world.claim_one(worker)])
    look = "select state, importing from penstock.job_states where job_id = $1"
    assert tuple(await world.connection.fetchrow(look, job)) == ("RUNNING", True)
    await world.connection.execute("update penstock.imports set state = 'failed'")
    assert tuple(await world.connection.fetchrow(look, job)) == ("FAILED", False)
    await world.connection.execute("update penstock.imports set state = 'stored'")
    assert tuple(await world.connection.fetchrow(look, job)) == ("DONE", False)
    await world.connection.execute("delete from penstock.imports")


async def test_limits_stand_as_people_see_them(connection: asyncpg.Connection):
    await limits.configure(connection, "wikidata", 0.001, 5)
    await limits.configure(connection, "removed", 1, 1)
    await limits.remove(connection, "removed")
    await limits.penalise(connection, "blocked", 1000, "asked to")
    shown = {one.key: one for one in await limits.listing(connection)}
    rows = await connection.fetch("select * from penstock.limit_states")
    assert {row["key"] for row in rows} == set(shown) == {"wikidata", "blocked"}
    for row in rows:
        limit = shown[row["key"]]
        assert (row["rate"], row["burst"], row["available"]) == (limit.rate, limit.burst, limit.available)
        assert (row["blocked_reason"], row["penalties"]) == (limit.blocked_reason, limit.penalties)
        assert (row["blocked_seconds"] > 0) is (limit.blocked_seconds > 0) is (row["blocked_until"] is not None)


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("select task_id, input, replaces from penstock.task_states where job_id = 1", {"tasks"}),
        ("select result, finished_at from penstock.task_states where task_id = 1", {"tasks", "outcomes"}),
        ("select task_id from penstock.queued_tasks where lane_id = 1 and stage_id = 1 and not running", {"queue"}),
        ("select status from penstock.queued_tasks where task_id = 1", {"queue", "lanes"}),
        ("select error from penstock.task_outcomes where status = 3", {"outcomes"}),
        ("select error from penstock.task_history where task_id = 1", {"attempts"}),
        ("select result from penstock.stage_results where task_id = 1", {"checkpoints"}),
        ("select name, metadata from penstock.job_states where job_id = 1", {"jobs"}),
        ("select total from penstock.job_states where job_id = 1", {"jobs", "lanes", "counts"}),
        ("select active from penstock.lane_states where lane_id = 1", {"lanes"}),
        ("select stage_id, paused from penstock.stage_load where pipeline = 'mail'", {"stages"}),
        ("select sum(ended) from penstock.task_counts where lane_id = 1 and stage_id = 1", {"counts"}),
        ("select sum(runs) from penstock.stage_minutes where stage_id = 1", {"statistics"}),
    ],
)
async def test_a_view_reads_no_table_that_a_statement_does_not_need(
    connection: asyncpg.Connection, statement: str, tables: set[str]
):
    plan = json.loads(await connection.fetchval(f"explain (format json) {statement}"))
    assert set(re.findall(r'"Relation Name": "(\w+)"', json.dumps(plan))) == tables


# Others, such as `drop table`, cannot be explained; they name nothing of the engine.
_EXPLAINED = re.compile(r"(\s*--.*\n)*\s*(select|with|insert|update|delete)\b", re.IGNORECASE)


def statements() -> Iterator[tuple[str, str]]:
    """The named statements outside the engine."""
    for path in sorted([*SOURCE.glob("console/**/sql/*.sql"), *SOURCE.glob("extensions/**/sql/*.sql")]):
        folder = path.relative_to(SOURCE).parent.parent
        queries = load(path.stem, ".".join(("penstock", *folder.parts)))
        for name in queries.names():
            # Written for any generation of an index: see extensions/articles/generations.py.
            text = getattr(queries, name).replace("vectors_0", "vectors_1").replace("vector(0)", "vector(256)")
            if _EXPLAINED.match(text):
                yield f"{folder}/{path.stem} {name}", text


@pytest.fixture
async def reader(connection: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """As the role of docs/views.md, which here may also use what the console and the extensions own."""
    if connection.get_server_version().major < 16:
        pytest.skip("a statement with parameters is explained from PostgreSQL 16 on")
    role = f"penstock_reader_{uuid4().hex[:12]}"
    recipe = re.search(r"```sql\n(create role .*?)```", PAGE, re.DOTALL)
    assert recipe is not None
    await connection.execute(recipe[1].replace("penstock_reader", role))
    for table in house._CONSOLE:
        await connection.execute(f"grant all on penstock.{table} to {role}")
    for schema in set(schemas(BUNDLED)) - {"penstock"}:
        await connection.execute(f"grant usage on schema {schema} to {role}")
        await connection.execute(f"grant all on all tables in schema {schema} to {role}")
        await connection.execute(f"grant all on all sequences in schema {schema} to {role}")
    # Where the migrations put pg_trgm.
    await connection.execute(f"set search_path = penstock, public; set role {role}")
    yield connection
    await connection.execute(f"reset role; drop owned by {role}; drop role {role}")


async def explained(connection: asyncpg.Connection, statement: str) -> None:
    """Permissions are checked, nothing runs, and nobody has to make up values for the parameters."""
    await connection.execute(f"explain (generic_plan) {statement}")


async def test_the_console_and_the_extensions_read_views_only(reader: asyncpg.Connection):
    refused, seen = {}, 0
    for name, text in statements():
        try:
            await explained(reader, text)
            seen += 1
        except asyncpg.PostgresError as error:
            refused[name] = str(error)
    # pgvector is no part of the server that the tests start.
    wrong = {name: why for name, why in refused.items() if why != 'type "vector" does not exist'}
    assert (wrong, seen > 200) == ({}, True)


async def test_the_role_may_read_every_view_and_no_table(reader: asyncpg.Connection):
    views = {row["relname"] for row in await reader.fetch(_COLUMNS)}
    for view in views:
        await reader.fetch(f"select * from penstock.{view} limit 0")
    for table in ("tasks", "queue", "outcomes", "jobs", "lanes", "counts", "attempts", "checkpoints"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await explained(reader, f"select from penstock.{table}")
