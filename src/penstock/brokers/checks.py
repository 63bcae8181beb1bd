"""Checks of the brokers: as live workers find them, as they are found from here, and what nobody could read in them.
And of where limits are counted."""

import asyncio

from penstock import brokers as transports
from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.limits.budgets import redis_url
from penstock.observe.finding import Check, Patient, Result, bad, fine, warn
from penstock.storage import dead_messages, limits, relay, workers

_ANSWER_SECONDS = 5.0
_SAME = "Give all processes the same PENSTOCK_REDIS_URL and PENSTOCK_LIMITER, and start anew those that had others."


async def in_use(patient: Patient) -> Result:
    """Workers go on without a broker, from PostgreSQL; somebody chose it all the same."""
    live = [one for one in await workers.listing(patient.connection) if one["live"]]
    told = [(one["name"], seen) for one in live for seen in one["status"].get("stages", {}).values()]
    told = [(worker, seen) for worker, seen in told if seen.get("transport", "postgres") != "postgres"]
    if not told:
        return fine("No live worker uses a broker.")
    if troubled := [(worker, seen) for worker, seen in told if seen.get("problem") is not None]:
        worker, seen = troubled[0]
        others = len({name for name, _ in troubled}) - 1
        more = f" So say {others:,} more workers." if others > 1 else " So says another worker." if others else ""
        return bad(
            f"Worker {worker} says: {seen['problem']}{more}",
            f"{seen.get('next_step') or 'Look at its log.'} A changed setting needs a restart of that worker.",
        )
    names = sorted({str(seen["transport"]) for _, seen in told})
    if silent := [name for name in names if not await relay.held(patient.connection, name)]:
        return warn(
            f"Workers hear of tasks from {' and '.join(silent)}, and nobody relays to it.",
            "Any worker does that whose settings name it; if it stays like this, read the log of one.",
        )
    count, verb = len({worker for worker, _ in told}), "serves" if len(names) == 1 else "serve"
    return fine(f"{' and '.join(names)} {verb} {count:,} {'worker' if count == 1 else 'workers'}.")


async def answering(patient: Patient) -> Result:
    """With the settings at hand, which may be others than those of the workers."""
    names = sorted(patient.settings.brokers)
    if not names:
        return fine("The settings here name no broker.")
    problems = [problem for name in names if (problem := await _problem(name, patient)) is not None]
    if problems:
        return bad(
            " ".join(sentence for sentence, _ in problems), " ".join(dict.fromkeys(step for _, step in problems))
        )
    return fine(f"{' and '.join(names)} {'answers' if len(names) == 1 else 'answer'}.")


async def _problem(name: str, patient: Patient) -> tuple[str, str] | None:
    """What is wrong, and what to do about it."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            transport = await transports.opened(name, patient.settings)
            await transport.close()
    except (BrokerAway, BrokerRefused) as error:
        return error.sentence, error.next_step
    except TimeoutError:
        away = f"The broker {name} has not answered for {_ANSWER_SECONDS:g} s."
        return away, f"Start the broker, or correct PENSTOCK_{name.upper()}_URL."
    return None


async def unread(patient: Patient) -> Result:
    found = await dead_messages.open_counts(patient.connection)
    if not found:
        return fine("No message of a broker is dead.")
    told = " and ".join(f"{count:,} of {name}" for name, count in found.items())
    return warn(f"Nobody could read some messages: {told}.", "`penstock dead-letters messages list`")


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


CHECKS = (
    Check(name="brokers", look=answering, bare=True),
    Check(name="brokers in use", look=in_use),
    Check(name="messages", look=unread),
    Check(name="limiter", look=store),
)
