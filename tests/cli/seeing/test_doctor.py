"""`penstock doctor`: each fault is made for real, found, and gone after its own fix."""

import asyncio
import os
import socket
from uuid import uuid4

import asyncpg
import orjson
import pytest

from penstock import Extension, Penstock
from penstock.config import Settings, load
from penstock.extensions import linking
from penstock.insight import doctor
from penstock.insight.checks import server
from penstock.observe.finding import Check, Finding, Health, Patient
from penstock.observe.finding import Result as CheckResult
from penstock.storage import server_state, tasks, workers
from penstock.storage.tasks import NewTask
from tests.cli.seeing.command_line import CommandLine, run


@pytest.fixture
def settings(database_url: str) -> Settings:
    return load(database_url=database_url)


async def found(connection: asyncpg.Connection, settings: Settings, check: str) -> Finding:
    [chosen] = [one for one in doctor.CHECKS if one.name == check]
    [finding] = await doctor.examine(connection, settings, checks=[chosen])
    return finding


async def register(connection: asyncpg.Connection, stages: list[int], lease_seconds: float) -> int:
    return await workers.register(
        connection, supervisor=uuid4(), name="host-7", stages=stages, lease_seconds=lease_seconds
    )


async def test_every_check_works_on_a_healthy_database(connection: asyncpg.Connection, settings: Settings) -> None:
    findings = await doctor.examine(connection, settings)
    assert [one.check for one in findings if "could not be looked at" in one.finding] == []
    assert all(one.fix for one in findings if one.health is not Health.OK)
    healthy = {one.check for one in findings if one.health is Health.OK}
    assert {"schema", "indexes", "leases", "stages", "upkeep", "clock", "server version"} <= healthy


async def test_a_missing_index_is_named_and_its_fix_mends_it(
    connection: asyncpg.Connection, settings: Settings
) -> None:
    await connection.execute("drop index penstock.queue_ready")
    finding = await found(connection, settings, "indexes")
    assert finding.health is Health.BAD
    assert "queue_ready" in finding.finding
    assert finding.fix is not None
    await connection.execute(finding.fix)
    assert (await found(connection, settings, "indexes")).health is Health.OK


async def test_an_invalid_index_is_named(connection: asyncpg.Connection, settings: Settings) -> None:
    await connection.execute(
        "update pg_index set indisvalid = false where indexrelid = 'penstock.queue_leased'::regclass"
    )
    finding = await found(connection, settings, "indexes")
    assert (finding.health, "queue_leased is invalid" in finding.finding) == (Health.BAD, True)


def test_the_expected_indexes_are_those_of_the_migrations() -> None:
    expected = server_state.expected_indexes()
    assert {"queue_ready", "queue_unique", "outcomes_dead", "tasks_job"} <= set(expected)
    assert expected["queue_unique"].startswith("create unique index concurrently queue_unique on penstock.queue")


async def test_a_schema_that_is_missing_is_told_and_the_rest_still_looks(bare_url: str) -> None:
    ended = await asyncio.to_thread(run, ["doctor", "--database-url", bare_url])
    assert ended.code == 1
    assert "not installed" in ended.stdout
    assert "penstock migrate" in ended.stdout
    assert "PostgreSQL" in ended.stdout
    assert "could not be looked at" not in ended.stdout and "is missing" not in ended.stdout
    assert "Traceback" not in ended.stderr


async def test_a_migration_that_an_extension_lacks_is_named(connection: asyncpg.Connection, settings: Settings) -> None:
    async def look() -> dict[str, Finding]:
        findings = await doctor.examine(connection, settings, checks=[], extensions=[linking.extension])
        return {one.check: one for one in findings}

    assert (await look())["schema of linking"].health is Health.OK
    gone = "delete from penstock.extension_migrations where extension = 'linking' returning version"
    assert await connection.fetch(gone)
    await connection.execute(
        "delete from penstock.migrations where version = any($1)", [*linking.extension.formerly.values()]
    )
    finding = (await look())["schema of linking"]
    assert finding.health is Health.BAD
    assert "linking 0001" in finding.finding and finding.fix is not None and "penstock migrate" in finding.fix


async def test_what_an_extension_cannot_bring_is_a_finding_beside_the_others(
    connection: asyncpg.Connection, settings: Settings
) -> None:
    broken = Extension(name="letters", checks="no.such.module:CHECKS")
    findings = await doctor.examine(connection, settings, extensions=[broken])
    assert len(findings) == len(doctor.CHECKS) + 1
    assert (findings[-1].health, "importing no.such.module:CHECKS" in findings[-1].finding) == (Health.BAD, True)


async def test_extensions_that_a_database_was_never_used_with_are_left_out(
    connection: asyncpg.Connection, database_url: str
) -> None:
    def checked() -> set[str]:
        ended = run(["doctor", "--database-url", database_url, "-o", "json"])
        return {one["check"] for one in orjson.loads(ended.stdout)}

    assert "schema of linking" in await asyncio.to_thread(checked)
    await connection.execute("delete from penstock.extension_migrations where extension = 'linking'")
    await connection.execute(
        "delete from penstock.migrations where version = any($1)", [*linking.extension.formerly.values()]
    )
    assert "schema of linking" not in await asyncio.to_thread(checked)


async def test_an_application_asks_the_doctor_about_its_extensions(database_url: str) -> None:
    app = Penstock("shop", settings=load(database_url=database_url))
    linking.install(app)
    async with app:
        assert "schema of linking" in {one.check for one in await app.insight.doctor()}


async def test_a_broken_table_spoils_only_the_checks_that_need_it(
    connection: asyncpg.Connection, settings: Settings
) -> None:
    await connection.execute("alter table penstock.workers rename to gone")
    findings = {one.check: one for one in await doctor.examine(connection, settings)}
    assert "could not be looked at" in findings["workers"].finding
    assert findings["schema"].health is Health.OK


async def test_a_check_that_fails_reports_itself(connection: asyncpg.Connection, settings: Settings) -> None:
    async def broken(patient: Patient) -> CheckResult:
        raise RuntimeError("of all things")

    [finding] = await doctor.examine(connection, settings, checks=[Check(name="odd", look=broken)])
    assert (finding.health, "of all things" in finding.finding) == (Health.WARN, True)


async def test_who_pins_old_rows_is_named_with_the_command_that_ends_it(
    connection: asyncpg.Connection, database_url: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_PINNED_WARN_SECONDS", 0.0)
    reader = await asyncpg.connect(database_url, server_settings={"application_name": "nightly report"})
    async with reader.transaction(isolation="repeatable_read"):
        await reader.fetchval("select count(*) from penstock.tasks")
        finding = await found(connection, settings, "pinned rows")
        assert finding.health is Health.WARN
        assert "nightly report" in finding.finding
        assert finding.fix is not None
        assert f"pg_terminate_backend({reader.get_server_pid()})" in finding.fix
    await reader.close()


async def test_a_forgotten_transaction_is_named(
    connection: asyncpg.Connection, database_url: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LONG_TRANSACTION_SECONDS", 0.0)
    sleeper = await asyncpg.connect(database_url, server_settings={"application_name": "forgetful"})
    async with sleeper.transaction():
        await sleeper.execute("select 1")
        finding = await found(connection, settings, "long transactions")
        assert (finding.health, "forgetful" in finding.finding) == (Health.WARN, True)
        assert "idle in transaction" in finding.finding
    await sleeper.close()


async def test_autovacuum_switched_off_for_the_queue_is_bad_and_its_fix_mends_it(
    connection: asyncpg.Connection, settings: Settings
) -> None:
    await connection.execute("alter table penstock.queue set (autovacuum_enabled = false)")
    finding = await found(connection, settings, "autovacuum")
    assert finding.health is Health.BAD
    assert finding.fix is not None
    await connection.execute(finding.fix)
    assert (await found(connection, settings, "autovacuum")).health is Health.OK


async def test_a_dead_worker_with_leases_and_an_unserved_stage_are_found(
    connection: asyncpg.Connection, settings: Settings, shop: Penstock
) -> None:
    stage = shop.stage_ids[("greet", "greet")]
    await tasks.enqueue(connection, NewTask(pipeline="greet", input="{}"))
    finding = await found(connection, settings, "stages")
    assert (finding.health, "stage greet" in finding.finding) == (Health.BAD, True)
    assert (await found(connection, settings, "workers")).finding == "No worker is running."
    worker = await register(connection, [stage], lease_seconds=-60)
    await connection.execute("update penstock.queue set worker = $1, lease = 1", worker)
    finding = await found(connection, settings, "leases")
    assert (finding.health, "host-7 is gone and still holds 1 tasks" in finding.finding) == (Health.BAD, True)
    silent = f"host-7 (pid {os.getpid()} on {socket.gethostname()}) is silent"
    assert silent in (await found(connection, settings, "workers")).finding


async def test_a_live_worker_that_serves_the_stage_is_all_it_needs(
    connection: asyncpg.Connection, settings: Settings, shop: Penstock
) -> None:
    await tasks.enqueue(connection, NewTask(pipeline="greet", input="{}"))
    await register(connection, [shop.stage_ids[("greet", "greet")]], lease_seconds=60)
    assert (await found(connection, settings, "stages")).health is Health.OK
    assert (await found(connection, settings, "workers")).finding == "1 worker is alive."


async def test_schedules_with_errors_and_late_duties_are_found(
    connection: asyncpg.Connection, settings: Settings
) -> None:
    await connection.execute(
        "insert into penstock.schedules (name, cron, pipeline, last_error)"
        " values ('nightly', '* * * * *', 'x', 'no such task')"
    )
    await connection.execute("insert into penstock.duties (name, due_at) values ('rescue', now() - interval '1 hour')")
    schedule, duty = await found(connection, settings, "schedules"), await found(connection, settings, "upkeep")
    assert (schedule.health, "no such task" in schedule.finding) == (Health.BAD, True)
    assert (duty.health, "'rescue' is overdue by 60 min" in duty.finding) == (Health.WARN, True)


async def test_settings_that_can_lose_commits_are_told(
    connection: asyncpg.Connection, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for values, health in (
        ({"fsync": "off"}, Health.BAD),
        ({"synchronous_commit": "off"}, Health.WARN),
        ({"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}, Health.OK),
    ):

        async def given(_: object, values: dict[str, str] = values) -> dict[str, str]:
            return values

        monkeypatch.setattr(server_state, "settings", given)
        assert (await found(connection, settings, "durability")).health is health


async def test_the_exit_code_says_whether_something_is_bad(
    penstock: CommandLine, connection: asyncpg.Connection
) -> None:
    await connection.execute("drop index penstock.queue_ready")
    findings = await penstock.json("doctor", code=1)
    assert {"check", "health", "finding", "fix"} == set(findings[0])


def test_a_database_that_is_away_leaves_exit_code_5_and_a_finding() -> None:
    ended = run(["doctor", "--database-url", "postgresql://nobody@127.0.0.1:1/none"])
    assert ended.code == 5
    assert "BAD   connection" in ended.stdout
