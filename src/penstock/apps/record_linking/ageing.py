"""What sources answered is used again for ``linking_cache_days``, and kept longer for rankings, which ask nobody."""

from typing import TYPE_CHECKING, Any

from penstock.storage.queries import load

if TYPE_CHECKING:
    from penstock.apps.record_linking.shared import RecordLinking

# So many times the days of the cache: then records of that age are left as they are by a ranking.
KEPT_TIMES = 6
BATCH = 5000
_sql = load("ageing", "penstock.apps.record_linking")
Connection = Any


async def forget_searches(connection: Connection, days: float) -> int:
    said: str = await connection.execute(_sql.forget_searches, days, BATCH)
    return int(said.rpartition(" ")[2])


async def forget_entities(connection: Connection, days: float) -> int:
    said: str = await connection.execute(_sql.forget_entities, days, BATCH)
    return int(said.rpartition(" ")[2])


async def forget_old(linking: "RecordLinking") -> int:
    """Answers first, and entities a cache's age later: an answer that is kept finds the entities it names."""
    days = linking.app.settings.linking_cache_days
    total = 0
    for forget, age in ((forget_searches, KEPT_TIMES * days), (forget_entities, (KEPT_TIMES + 1) * days)):
        while True:
            async with linking.app.connection() as connection:
                gone = await forget(connection, age)
            total += gone
            if gone < BATCH:
                break
    return total
