"""Errors of the driver, and what is none."""

import asyncio
from typing import Any

import asyncpg
import psycopg
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.errors import DatabaseUnavailable
from penstock.storage import database, dialer
from penstock.testing.proxy import Proxy


async def test_a_fault_of_whoever_uses_a_connection_is_not_told_as_one_of_the_database(database_url: str) -> None:
    async with Penstock("faulty", settings=load(database_url=database_url)) as app:
        with pytest.raises(ValueError, match="invalid literal"):
            async with app.connection():
                int("no number")


async def test_a_connection_to_a_silent_server_is_given_up_when_its_time_is_over(database_url: str) -> None:
    """The driver waits for the answer to its cancel request, for as long as a statement may take."""
    async with Proxy(database_url) as proxy:
        app = Penstock("patient", settings=load(database_url=proxy.url, command_timeout_seconds=3600))
        async with app:
            async with app.connection() as connection:
                await connection.fetchval("select 1")
            proxy.blackhole()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2), app.connection() as connection:
                    await connection.fetchval("select 1")
            proxy.restore()
            async with app.connection() as connection:
                assert await connection.fetchval("select 1") == 1


@pytest.mark.parametrize("password", ["hunter2#secret", "hunter2/secret", "hunter2?secret"])
async def test_no_part_of_a_password_is_in_the_error_of_a_wrong_address(password: str) -> None:
    with pytest.raises(DatabaseUnavailable) as refused:
        await database.connect(load(database_url=None), f"postgresql://bob:{password}@127.0.0.1/x", purpose="tests")
    assert "hunter2" not in str(refused.value) and "secret" not in str(refused.value)


async def test_an_address_that_is_none_is_told_as_such() -> None:
    with pytest.raises(DatabaseUnavailable, match="not a PostgreSQL URL"):
        await database.connect(load(database_url=None), "postgresql://[::1/x", purpose="tests")


async def test_a_new_connection_looks_up_no_type_of_an_array(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups: list[Any] = []

    async def lookup(connection: Any, oids: Any, timeout: Any) -> Any:
        lookups.append(oids)
        return await introspect(connection, oids, timeout)

    introspect = asyncpg.Connection._introspect_types  # type: ignore[attr-defined]
    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", lookup)
    connection = await database.connect(load(database_url=database_url), database_url, purpose="test")
    for _, name, _ in dialer.ARRAYS:
        assert await connection.fetchval(f"select $1::{name[1:]}[]", []) == []
    assert await connection.fetchval("select $1::bigint[]", [1, None, 2**62]) == [1, None, 2**62]
    assert lookups == []
    await connection.close()


async def test_the_types_of_arrays_are_those_of_the_server(connection: asyncpg.Connection) -> None:
    found = await connection.fetch(
        "select oid::int, typname::text, typelem::int from pg_type where typname = any ($1::text[]) order by oid",
        [name for _, name, _ in dialer.ARRAYS],
    )
    assert [tuple(row) for row in found] == sorted(dialer.ARRAYS)


async def test_an_application_closes_although_the_server_closes_its_connections_first(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goodbye = asyncpg.Connection.close

    async def too_late(connection: Any, **options: Any) -> None:
        """Between the decision to close and the word of it: nothing is awaited here."""
        with psycopg.connect(database_url, autocommit=True) as another:
            another.execute("select pg_terminate_backend(%s, 60000)", [connection.get_server_pid()])
        await goodbye(connection, **options)

    app = Penstock("left", settings=load(database_url=database_url))
    async with app.connection() as connection:
        await connection.fetchval("select 1")
    monkeypatch.setattr(asyncpg.Connection, "close", too_late)
    await app.close()
