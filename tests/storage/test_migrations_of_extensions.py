"""Each extension has migrations of its own; a database of an earlier release, which had one sequence, is taken over."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from penstock import Extension, NotFound, Penstock, Skip, Task, worker
from penstock.config import load
from penstock.errors import InvalidExtension, SchemaOutOfDate
from penstock.storage import migrate
from penstock.storage.migrate import migrations, migrations_of, newest, schemas
from tests.databases import BUNDLED

_SEQUENCE = """
create table penstock.migrations (
    version integer primary key, name text not null, applied_at timestamptz not null default now()
)
"""


def earlier_release() -> Iterator[tuple[int, str, str]]:
    """The single sequence of the releases before: number, name, SQL. The files are the same."""
    found = [(one.version, one.name, one.sql) for one in migrations() if one.version <= 18]
    found += [(one.formerly, one.name, one.sql) for one in BUNDLED if one.formerly is not None]
    assert sorted(number for number, _, _ in found) == list(range(1, 19))
    yield from sorted(found)


async def migrated_by_the_release_before(connection: asyncpg.Connection, up_to: int = 18) -> None:
    await connection.execute(f"create schema penstock; {_SEQUENCE}")
    for number, name, sql in earlier_release():
        if number <= up_to:
            await connection.execute(sql)
            await connection.execute("insert into penstock.migrations (version, name) values ($1, $2)", number, name)


@pytest.fixture
async def bare(bare_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(bare_url)
    yield connection
    await connection.close()


async def tables(connection: asyncpg.Connection) -> set[str]:
    rows = await connection.fetch(
        "select schemaname || '.' || tablename as name from pg_tables where schemaname !~ '^pg_'"
    )
    return {row["name"] for row in rows if not row["name"].startswith("information_schema.")}


async def test_a_database_of_the_release_before_needs_nothing_and_is_taken_over_as_it_is(bare: asyncpg.Connection):
    await migrated_by_the_release_before(bare)
    await bare.execute("insert into catalogue.products (key, title, search_title) values ('a', 'A', 'a')")
    await migrate.check(bare, BUNDLED)
    assert await migrate.pending(bare, BUNDLED) == tuple(one for one in migrations() if one.version > 18)
    await migrate.migrate(bare, BUNDLED)
    assert await bare.fetchval("select count(*) from catalogue.products") == 1
    assert await bare.fetchval("select count(*) from penstock.extension_migrations") == len(BUNDLED)
    assert await migrate.migrate(bare, BUNDLED) == ()


@pytest.mark.parametrize("up_to", [1, 5, 8, 12])
async def test_a_database_in_the_middle_of_the_old_sequence_goes_on(bare: asyncpg.Connection, up_to: int):
    await migrated_by_the_release_before(bare, up_to)
    there = {one.formerly for one in BUNDLED if one.formerly is not None and one.formerly <= up_to}
    done = await migrate.migrate(bare, BUNDLED)
    assert {one.formerly for one in done if one.extension} == {one.formerly for one in BUNDLED} - there
    await migrate.check(bare, BUNDLED)


async def test_a_fresh_database_has_the_same_tables_as_one_that_was_taken_over(
    bare: asyncpg.Connection, connection: asyncpg.Connection
):
    await migrated_by_the_release_before(bare)
    await migrate.migrate(bare, BUNDLED)
    assert await tables(bare) == await tables(connection)


async def test_an_older_release_finds_nothing_to_do_on_a_database_of_this_one(connection: asyncpg.Connection):
    rows = await connection.fetch("select version, name from penstock.migrations order by version")
    assert [tuple(row) for row in rows][:18] == [(number, name) for number, name, _ in earlier_release()]


async def test_without_extensions_a_database_has_penstocks_own_schema_alone(bare: asyncpg.Connection):
    await migrate.migrate(bare)
    assert {name.partition(".")[0] for name in await tables(bare)} == {"penstock"}
    assert await migrate.applied(bare) == tuple(one.version for one in migrations())
    await migrate.check(bare)
    with pytest.raises(SchemaOutOfDate, match=r"extension 'articles' is at version 0.*--app module:name"):
        await migrate.check(bare, BUNDLED)


async def test_work_in_every_state_goes_on_while_the_database_is_taken_over(bare: asyncpg.Connection, bare_url: str):
    await migrated_by_the_release_before(bare)
    app = Penstock("shop", settings=load(database_url=bare_url, max_attempts_error=1))
    started, go = asyncio.Event(), asyncio.Event()

    @app.task()
    async def echo(text: str) -> Any:
        match text:
            case "ERROR":
                raise ValueError(text)
            case "NOT_FOUND":
                return NotFound("nobody has it")
            case "SKIPPED":
                return Skip("not needed")
            case "running":
                started.set()
                await go.wait()
        return text

    async with app:
        ended = {name: await echo.enqueue(name) for name in ("DONE", "ERROR", "NOT_FOUND", "SKIPPED")}
        ended["CANCELLED"] = await echo.options(delay=3600).enqueue("CANCELLED")
        await ended["CANCELLED"].cancel()
        ended["PENDING"] = await echo.options(delay=3600).enqueue("later")
        async with worker(app):
            running = await echo.enqueue("running")
            await started.wait()
            await drained(ended[name] for name in ("DONE", "ERROR", "NOT_FOUND", "SKIPPED"))
            await migrate.migrate(bare, BUNDLED)
            go.set()
            assert await running.result(30) == "running"
            assert await (await echo.enqueue("after")).result(30) == "after"
    rows = await bare.fetch("select task_id, state from penstock.task_states")
    states = {row["task_id"]: row["state"] for row in rows}
    assert {name: states[task.id] for name, task in ended.items()} == {name: name for name in ended}


async def drained(tasks: Iterable[Task[Any]]) -> None:
    for task in tasks:
        await task.wait(60)


# ---------------------------------------------------------------- bad input


def extension_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], name: str = "letters"
) -> Extension:
    package = f"ext_{folder.name}_{name}".replace("-", "_")
    (folder / package / "migrations").mkdir(parents=True)
    (folder / package / "__init__.py").write_text("")
    for file, sql in files.items():
        (folder / package / "migrations" / file).write_text(sql)
    monkeypatch.syspath_prepend(folder)
    return Extension(name=name, migrations=package)


async def test_a_broken_migration_is_named_and_leaves_nothing(
    bare: asyncpg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sql = "create schema if not exists letters;\ncreate table letters.a (id int);\ncreate tabel letters.b ();"
    files = {"0001_tables.sql": sql}
    further = migrations_of([extension_in(tmp_path, monkeypatch, files)])
    with pytest.raises(
        InvalidExtension, match=r"'letters' cannot be installed: its migration 0001 tables failed: syntax error"
    ):
        await migrate.migrate(bare, further)
    assert "letters" not in {name.partition(".")[0] for name in await tables(bare)}
    assert await migrate.applied(bare) == tuple(one.version for one in migrations())
    assert newest() == max(one.version for one in migrations())


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "numbered from 0001 without gaps; found: none"),
        ({"0002_late.sql": ""}, "found: 0002"),
        ({"0001_a.sql": "", "0001_b.sql": ""}, "found: 0001, 0001"),
        (
            {"0001_mine.sql": "create schema if not exists penstock;"},
            "its schema 'penstock' belongs to Penstock itself",
        ),
    ],
)
def test_an_invalid_folder_of_migrations_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], said: str
):
    extension, app = extension_in(tmp_path, monkeypatch, files), Penstock("shop")
    with pytest.raises(InvalidExtension, match=said):
        app.install(extension)
    assert (app.extensions, app.migrations) == ({}, ())


def test_two_extensions_with_one_schema_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = {"0001_tables.sql": "create schema if not exists letters;"}
    app = Penstock("shop")
    app.install(extension_in(tmp_path, monkeypatch, files))
    with pytest.raises(InvalidExtension, match="its schema 'letters' belongs to the extension 'letters'"):
        app.install(extension_in(tmp_path, monkeypatch, files, "parcels"))
    assert list(app.extensions) == ["letters"]
    assert "letters" in schemas(app.migrations)


def test_a_package_of_migrations_that_is_missing_is_named():
    with pytest.raises(InvalidExtension, match="its migrations folder cannot be read: No module named 'nowhere'"):
        Penstock("shop").install(Extension(name="letters", migrations="nowhere"))
