"""A shop on a fresh database, with and without a worker, and a command line on the same database."""

from collections.abc import AsyncIterator

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.events import Events
from penstock.workers.inprocess import worker
from tests.cli.seeing import shop as declared
from tests.cli.seeing.command_line import CommandLine


@pytest.fixture
def penstock(database_url: str) -> CommandLine:
    return CommandLine(database_url)


@pytest.fixture
async def shop(database_url: str) -> AsyncIterator[Penstock]:
    """Its stages are registered; nobody runs them."""
    app = declared.make()
    app.use(load(database_url=database_url), Events())
    async with app:
        yield app


@pytest.fixture
async def open_shop(shop: Penstock) -> AsyncIterator[Penstock]:
    """The same with a worker."""
    async with worker(shop):
        yield shop
