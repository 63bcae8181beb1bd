"""Enqueue inside the caller's transaction: the task exists if and only if that transaction commits."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from penstock import Penstock
from penstock.errors import InvalidArguments, UsageError


@pytest.fixture
async def add(app: Penstock):
    @app.task()
    async def add(a: int, b: int = 1) -> int:
        return a + b

    await app.open()
    return add


async def stored(app: Penstock) -> list[int]:
    async with app.connection() as connection:
        rows = await connection.fetch("select (input ->> 'a')::int as a from penstock.tasks order by id")
    return [row["a"] for row in rows]


class Rollback(Exception):
    pass


async def test_asyncpg(app, add, database_url):
    connection = await asyncpg.connect(database_url)
    with pytest.raises(Rollback):
        async with connection.transaction():
            await add.enqueue_on(connection, 1)
            raise Rollback
    async with connection.transaction():
        task = await add.enqueue_on(connection, 2)
        await add.options(idempotency_key="k", priority="high").enqueue_on(connection, 3)
    await connection.close()
    assert await stored(app) == [2, 3]
    assert (await task.details())["input"] == {"a": 2}


async def test_psycopg_async(app, add, database_url):
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await add.enqueue_on(connection, 1)
        await connection.rollback()
        await add.options(delay=5).enqueue_on(connection, 2)
        await connection.commit()
    assert await stored(app) == [2]


async def test_psycopg_sync(app, add, database_url):
    def work() -> None:
        with psycopg.connect(database_url) as connection:
            add.enqueue_sync_on(connection, 1)
            connection.rollback()
            add.enqueue_sync_on(connection, 2)
            connection.commit()

    await asyncio.to_thread(work)
    assert await stored(app) == [2]


async def test_sqlalchemy_async_session(app, add, database_url):
    engine = create_async_engine(_sqlalchemy_url(database_url, "postgresql+psycopg"))
    async with AsyncSession(engine) as session:
        await add.enqueue_on(session, 1)
        await session.rollback()
        await add.enqueue_on(session, 2)
        await session.commit()
    await engine.dispose()
    assert await stored(app) == [2]


async def test_sqlalchemy_sync_connection(app, add, database_url):
    def work() -> None:
        engine = sqlalchemy.create_engine(_sqlalchemy_url(database_url, "postgresql+psycopg"))
        with engine.connect() as connection:
            add.enqueue_sync_on(connection, 1)
            connection.rollback()
            add.enqueue_sync_on(connection, 2)
            connection.commit()
        engine.dispose()

    await asyncio.to_thread(work)
    assert await stored(app) == [2]


async def test_django_atomic(app, add, database_url):
    def work() -> None:
        import django
        from django.conf import settings
        from django.db import connections, transaction

        parts = urlsplit(database_url)
        host = parse_qs(parts.query).get("host", [parts.hostname])[0]
        settings.configure(
            DATABASES={
                "default": {
                    "ENGINE": "django.db.backends.postgresql",
                    "NAME": parts.path.lstrip("/"),
                    "USER": parts.username,
                    "PASSWORD": parts.password or "",
                    "HOST": host,
                    "PORT": parts.port or "",
                }
            }
        )
        django.setup()
        connection = connections["default"]
        with pytest.raises(Rollback), transaction.atomic():
            add.enqueue_sync_on(connection, 1)
            raise Rollback
        with transaction.atomic():
            add.enqueue_sync_on(connection, 2)
        connection.close()

    await asyncio.to_thread(work)
    assert await stored(app) == [2]


async def test_the_thin_synchronous_enqueue_needs_no_connection_and_no_loop(app, add):
    task = await asyncio.to_thread(lambda: add.enqueue_sync(7, b=2))
    assert task.created
    assert await stored(app) == [7]


async def test_many_tasks_in_the_callers_transaction(app, add, database_url):
    connection = await asyncpg.connect(database_url)
    with pytest.raises(Rollback):
        async with connection.transaction():
            await add.enqueue_many(({"a": n} for n in range(7_000)), connection=connection)
            raise Rollback
    assert await stored(app) == []
    async with connection.transaction():
        await add.enqueue_many(({"a": n} for n in range(7_000)), connection=connection)
    await connection.close()
    assert len(await stored(app)) == 7_000


async def test_something_that_is_no_connection_is_refused_by_its_type(app, add):
    with pytest.raises(UsageError, match=r"builtins.dict.*asyncpg, psycopg, SQLAlchemy or Django"):
        await add.enqueue_on({}, 1)


def _sqlalchemy_url(url: str, driver: str) -> str:
    return url.replace("postgresql", driver, 1)


async def test_many_tasks_inside_a_savepoint(app, add, database_url):
    connection = await asyncpg.connect(database_url)
    async with connection.transaction(), connection.transaction():
        job = await add.enqueue_many(({"a": n} for n in range(6_000)), connection=connection)
    waiting = await connection.fetchval("select count(*) from penstock.queue")
    await connection.close()
    assert waiting == job.count == 6_000


async def test_a_bad_row_of_many_is_named_by_its_number(app, add):
    with pytest.raises(InvalidArguments, match="row 3: a: input should be a valid integer"):
        await add.enqueue_many([{"a": 1}, {"a": 2}, {"a": "x"}])
