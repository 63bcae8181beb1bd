"""Errors of the driver, and what is none."""

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.errors import DatabaseUnavailable
from penstock.storage import database


async def test_a_fault_of_whoever_uses_a_connection_is_not_told_as_one_of_the_database(database_url: str) -> None:
    async with Penstock("faulty", settings=load(database_url=database_url)) as app:
        with pytest.raises(ValueError, match="invalid literal"):
            async with app.connection():
                int("no number")


async def test_an_address_that_is_none_is_told_as_such() -> None:
    with pytest.raises(DatabaseUnavailable, match="not a PostgreSQL URL"):
        await database.connect(load(database_url=None), "postgresql://[::1/x", purpose="tests")
