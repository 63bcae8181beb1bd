"""`penstock migrate`: once, twice, at the same time, interrupted, as SQL."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import orjson

from penstock.storage.migrate import migrate, migrations, newest
from tests.cli.conftest import Background, Call
from tests.databases import BUNDLED
from tools.dump_schema import dump

ALL = [one.label for one in (*migrations(), *BUNDLED)]


async def test_check_says_what_is_pending_and_migrate_applies_it_once(call: Call, bare_url: str):
    before = call("migrate", "--check", "-o", "json", database_url=bare_url)
    assert before.returncode == 1
    assert orjson.loads(before.stdout) == {"version": 0, "needed": newest(), "pending": ALL}
    first = call("migrate", "-o", "json", database_url=bare_url)
    assert (first.returncode, orjson.loads(first.stdout)) == (0, {"version": newest(), "applied": ALL})
    again = call("migrate", "-o", "json", database_url=bare_url)
    assert (again.returncode, orjson.loads(again.stdout)) == (0, {"version": newest(), "applied": []})
    assert call("migrate", "--check", database_url=bare_url).returncode == 0


async def test_a_command_of_an_extension_wants_its_tables_and_others_do_not(call: Call, bare_url: str):
    connection = await asyncpg.connect(bare_url)
    await migrate(connection)
    await connection.close()
    assert call("status", database_url=bare_url).returncode == 0
    for command in (
        ("sites", "status"),
        ("articles", "stats"),
        ("link", "status", "1"),
        ("catalogue", "products", "count"),
    ):
        refused = call(*command, database_url=bare_url)
        assert (refused.returncode, "penstock migrate" in refused.stderr) == (4, True), refused.stderr
    assert call("migrate", database_url=bare_url).returncode == 0
    assert call("sites", "status", database_url=bare_url).returncode == 0


def test_a_command_of_an_extension_makes_its_tables_in_an_embedded_server(call: Call, home: Path):
    made = call("catalogue", "products", "import", "--sample", home=str(home), seconds=120)
    assert made.returncode == 0, made.stderr


async def test_two_migrations_at_the_same_time_both_end_well(start: Callable[..., Background], bare_url: str):
    both = [start("migrate", "-o", "json", database_url=bare_url) for _ in range(2)]
    assert [one.ended(60) for one in both] == [0, 0]
    applied = [orjson.loads(one.stdout)["applied"] for one in both]
    # Who applies which is a matter of turns; each is applied once.
    assert sorted(applied[0] + applied[1]) == sorted(ALL)


async def test_a_migration_killed_half_way_leaves_nothing_and_can_be_run_again(
    start: Callable[..., Background], call: Call, bare_url: str
):
    blocker = await asyncpg.connect(bare_url)
    try:
        # An uncommitted schema of the same name: the migration waits in the middle of its work.
        async with blocker.transaction():
            await blocker.execute("create schema penstock; create table penstock.stages ()")
            half_way = start("migrate", database_url=bare_url)
            await _until_somebody_waits(bare_url)
            half_way.process.kill()
            half_way.ended()
            raise asyncpg.QueryCanceledError
    except asyncpg.QueryCanceledError:
        pass
    finally:
        await blocker.close()
    again = call("migrate", "-o", "json", database_url=bare_url)
    assert (again.returncode, orjson.loads(again.stdout)["applied"]) == (0, ALL)


async def _until_somebody_waits(url: str) -> None:
    watcher = await asyncpg.connect(url)
    try:
        query = (
            "select exists (select from pg_stat_activity where application_name = 'penstock migrate'"
            " and datname = current_database() and wait_event_type = 'Lock')"
        )
        async with asyncio.timeout(60):
            while not await watcher.fetchval(query):
                pass
    finally:
        await watcher.close()


async def test_the_printed_sql_makes_the_same_schema(call: Call, bare_url: str, database_url: str):
    script = call("migrate", "--sql")
    assert script.returncode == 0
    connection = await asyncpg.connect(bare_url)
    await connection.execute(script.stdout)
    await connection.close()
    assert dump(bare_url) == dump(database_url)
    assert call("migrate", "--check", database_url=bare_url).returncode == 0


async def test_a_worker_refuses_a_database_without_the_schema_and_names_the_command(call: Call, bare_url: str):
    ended = call("worker", "--app", "penstock_demo.shop:app", database_url=bare_url)
    assert ended.returncode == 4
    assert "next: penstock migrate" in ended.stderr


def test_sql_and_check_do_not_go_together(call: Call):
    assert call("migrate", "--sql", "--check").returncode == 2
