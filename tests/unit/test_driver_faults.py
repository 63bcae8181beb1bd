"""Faults of the driver that heal by dropping the connection."""

import asyncpg
import pytest

from penstock.errors import DatabaseUnavailable
from penstock.storage.database import LOST, passing, translated


def test_a_driver_that_lost_its_place_means_a_lost_connection():
    """Seen when the server was killed while a statement was being prepared; it must not end a supervisor."""
    error = asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
    assert isinstance(error, LOST)
    assert passing(error)
    with pytest.raises(DatabaseUnavailable, match="cannot switch to state"), translated():
        raise error
