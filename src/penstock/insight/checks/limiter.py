"""Checks of where limits are counted: by the settings at hand, and by the fleet."""

from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.limits.budgets import redis_url
from penstock.observe.finding import Check, Patient, Result, bad, fine, warn
from penstock.storage import limits

_SAME = "Give all processes the same PENSTOCK_REDIS_URL and PENSTOCK_LIMITER, and start anew those that had others."


async def store(patient: Patient) -> Result:
    """Two stores that count at once grant every budget twice."""
    url = redis_url(patient.settings)
    found = await limits.store(patient.connection)
    if url is None and found.store != "postgres":
        return bad(
            f"The fleet counts limits in {found.store}, and these settings in PostgreSQL: a worker with these settings"
            " grants every budget once more.",
            _SAME,
        )
    if url is None:
        return fine("Limits are counted in PostgreSQL.")
    try:
        await _ask(url)
    except BrokerRefused as error:
        return bad(f"{error} Limits are counted in PostgreSQL meanwhile.", "Correct PENSTOCK_REDIS_URL.")
    except BrokerAway as error:
        return warn(
            f"{error} Limits are counted in PostgreSQL meanwhile.", "Start Redis, or correct PENSTOCK_REDIS_URL."
        )
    if found.store == "redis":
        return fine("Limits are counted in Redis, which answers.")
    return fine("Redis answers. Limits are counted in PostgreSQL until a worker moves them.")


async def _ask(url: str) -> None:
    """Redis is imported late: who has none pays for none."""
    from penstock.brokers.redis.link import RedisLink

    link = RedisLink(url)
    try:
        await link.call("PING")
    finally:
        await link.close()


CHECKS = (Check(name="limiter", look=store),)
