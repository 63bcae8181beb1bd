"""Brokers for the tests: one of each per run, and others that a test may stop, kill and freeze.

``PENSTOCK_TEST_REDIS_URL`` and ``PENSTOCK_TEST_RABBITMQ_URL`` put given servers in their place. Those are never
stopped: tests that would do so are skipped then.
"""

import os
import shutil
from collections.abc import AsyncIterator, Iterator

import pytest

from penstock.brokers.transport import Transport
from penstock.testing.brokers import RABBITMQ_VARIABLE, REDIS_VARIABLE, RabbitServer, RedisServer
from tests.brokers.brokers import BROKERS, Broker, broker
from tests.brokers.sharing import run_folder, shared


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis that all tests of the run share: use a prefix of your own, and do not flush it."""
    if given := os.environ.get(REDIS_VARIABLE):
        yield given
        return
    with shared(RedisServer, "redis") as url:
        yield url


@pytest.fixture(scope="session")
def rabbitmq_url() -> Iterator[str]:
    """A RabbitMQ that all tests of the run share: use a prefix of your own."""
    if given := os.environ.get(RABBITMQ_VARIABLE):
        yield given
        return
    with shared(RabbitServer, "rabbitmq") as url:
        yield url


@pytest.fixture(scope="module")
def _redis_of_the_module() -> Iterator[RedisServer]:
    _skip_where_given(REDIS_VARIABLE)
    folder = run_folder() / f"own-redis-{os.getpid()}"
    with RedisServer(folder) as server:
        yield server


@pytest.fixture(scope="module")
def _rabbit_of_the_module() -> Iterator[RabbitServer]:
    _skip_where_given(RABBITMQ_VARIABLE)
    folder = run_folder() / f"own-rabbitmq-{os.getpid()}"
    with RabbitServer(folder) as server:
        yield server


@pytest.fixture
def own_redis(_redis_of_the_module: RedisServer) -> RedisServer:
    """A Redis that this test may stop, freeze and flush. It runs when the test begins."""
    _redis_of_the_module.ensure_running()
    return _redis_of_the_module


@pytest.fixture
def own_rabbit(_rabbit_of_the_module: RabbitServer) -> RabbitServer:
    """A RabbitMQ that this test may stop, freeze and empty. It runs when the test begins, which takes ten seconds
    once per file."""
    _rabbit_of_the_module.ensure_running()
    return _rabbit_of_the_module


@pytest.fixture(scope="session", autouse=True)
def _no_empty_folder_left() -> Iterator[None]:
    yield
    if not any(run_folder().glob("*/user-*")):
        shutil.rmtree(run_folder(), ignore_errors=True)


@pytest.fixture(params=BROKERS)
def place(request: pytest.FixtureRequest) -> Broker:
    """Each broker in turn, with a prefix of the test's own."""
    name: str = request.param
    return broker(name, request.getfixturevalue(f"{name}_url"))


@pytest.fixture
async def transport(place: Broker) -> AsyncIterator[Transport]:
    async with place.opened() as opened:
        yield opened
        await opened.remove(place.queue)


def _skip_where_given(variable: str) -> None:
    if os.environ.get(variable):
        pytest.skip(f"{variable} names a server, and this test would stop it")
