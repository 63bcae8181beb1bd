"""The rules of the model on real PostgreSQL: every promise holds after every step of every history tried.

`make test-all` tries many more histories, and others each time.
"""

import asyncio
from functools import partial

import asyncpg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.sizes import LONG, size
from tests.storage.fleet_machine import Fleet

PROFILE = settings(
    max_examples=size("HISTORIES", small=30, whole=1000),
    stateful_step_count=60,
    derandomize=not LONG,
    deadline=None,
    print_blob=LONG,
    # Making a failing history shorter takes minutes; the steps are printed either way.
    phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(3600 if LONG else 600)
def test_the_promises_hold_after_every_step_of_every_history(module_database_url: str):
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(module_database_url))
        try:
            run_state_machine_as_test(partial(Fleet, runner, connection), settings=PROFILE)  # type: ignore[arg-type]
        finally:
            runner.run(connection.close())
