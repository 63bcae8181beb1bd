"""A world on tables that are emptied between tests: these tests are many and small."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import asyncpg
import pytest

from tests.conftest import copy_database, drop_database, with_database
from tests.storage.world import World, build, empty


@pytest.fixture(scope="module")
def shared_database_url(server_url: str, template_name: str) -> Iterator[str]:
    """One database for all tests of a file; each of them starts with empty tables."""
    name = f"penstock_shared_{uuid4().hex[:12]}"
    asyncio.run(copy_database(server_url, template_name, name))
    yield with_database(server_url, name)
    asyncio.run(drop_database(server_url, name))


@pytest.fixture
async def world(shared_database_url: str) -> AsyncIterator[World]:
    connection = await asyncpg.connect(shared_database_url)
    await empty(connection)
    yield await build(connection)
    await connection.close()


@pytest.fixture
async def other(shared_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A second session on the tables of ``world``, for races."""
    connection = await asyncpg.connect(shared_database_url)
    yield connection
    connection.terminate()
