"""What sources answered is used again for ``linking_cache_days``, and kept longer for rankings, which ask nobody."""

from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.shared import RecordLinking
from penstock.storage.queries import load

# So many times the days of the cache: then records of that age are left as they are by a ranking.
KEPT_TIMES = 6
BATCH = 5000
_sql = load("ageing", "penstock.extensions.linking")


async def forget_old(linking: RecordLinking) -> int:
    """Answers first, and entities a cache's age later: an answer that is kept finds the entities it names."""
    days = linking.app.settings.of(LinkingSettings).cache_days
    total = 0
    for query, age in ((_sql.forget_searches, KEPT_TIMES * days), (_sql.forget_entities, (KEPT_TIMES + 1) * days)):
        while True:
            async with linking.app.connection() as connection:
                said: str = await connection.execute(query, age, BATCH)
            gone = int(said.rpartition(" ")[2])
            total += gone
            if gone < BATCH:
                break
    return total
