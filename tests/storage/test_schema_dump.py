"""``schema.sql`` in git is what the migrations make."""

import asyncpg
import pytest

from penstock.storage.migrate import schemas
from tests.databases import BUNDLED
from tools.dump_schema import SCHEMA_FILE, dump, normalised

DUMPED_WITH_MAJOR_VERSION = 18


async def test_the_schema_in_git_equals_a_fresh_dump(database_url: str, connection: asyncpg.Connection):
    if connection.get_server_version().major != DUMPED_WITH_MAJOR_VERSION:
        pytest.skip("the file shows the schema as PostgreSQL 18 writes it")
    assert dump(database_url) == SCHEMA_FILE.read_text(encoding="utf-8"), "run `make schema` and commit the file"


def test_what_differs_from_run_to_run_is_left_out():
    noise = "--\n-- Dumped by pg_dump 18.1\n\\restrict Zx81\n\nSET lock_timeout = 0;\n\n\n\n"
    text = noise + "CREATE SCHEMA a;\n\n\n\nCREATE TABLE a.b ();\n"
    assert normalised(text).split("\n\n", 1)[1] == "CREATE SCHEMA a;\n\nCREATE TABLE a.b ();\n"


async def test_every_schema_that_the_migrations_create_is_known(connection: asyncpg.Connection) -> None:
    rows = await connection.fetch("select nspname from pg_namespace where nspname !~ '^pg_' and oid >= 16384")
    assert {row[0] for row in rows} == set(schemas(BUNDLED))
