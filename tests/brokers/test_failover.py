"""A relay whose new connections reach a standby for a while goes on by itself."""

import pytest

from penstock.errors import DatabaseError
from tests.brokers.world import made_world
from tests.crash.conftest import eventually
from tests.crash.test_failover import Pair, pair

__all__ = ["pair"]

_OURS = "select application_name from pg_stat_activity where application_name like 'penstock %'"


@pytest.mark.timeout(240)
async def test_a_relay_that_was_led_to_a_standby_publishes_again_after_the_switch_back(
    pair: Pair, redis_url: str
) -> None:
    world = made_world(pair.anywhere, "redis", redis_url, lease_seconds=60.0, heartbeat_seconds=0.5)

    @world.app.task()
    async def echo(n: int) -> int:
        return n

    async def on_standby() -> set[str]:
        return {row["application_name"] for row in await pair.standby.fetch(_OURS)}

    async def relay_on_standby() -> bool:
        return any("relay" in name for name in await on_standby())

    async def stored() -> object:
        try:
            return await echo.enqueue(2)
        except DatabaseError:
            return None

    async def left_standby() -> bool:
        return not await on_standby()

    try:
        async with world.working():
            assert await (await echo.enqueue(1)).result(60) == 1
            pair.switch_to_standby()
            await eventually(relay_on_standby, what="the relay reaches the standby")
            pair.switch_back()
            task = await eventually(stored, what="a task is stored again")
            assert await task.result(60) == 2
            await eventually(left_standby, what="nothing stays connected to the standby")
    finally:
        await world.app.close()
