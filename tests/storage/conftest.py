"""A world on tables that are emptied between tests: these tests are many and small."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.storage.world import World, build, empty


@pytest.fixture
async def world(module_database_url: str) -> AsyncIterator[World]:
    connection = await asyncpg.connect(module_database_url)
    await empty(connection)
    yield await build(connection)
    await connection.close()


@pytest.fixture
async def other(module_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A second session on the tables of ``world``, for races."""
    connection = await asyncpg.connect(module_database_url)
    yield connection
    connection.terminate()
