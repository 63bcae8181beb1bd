"""Checks of the brokers: as live workers find them, as they are found from here, and what nobody could read in them."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock import brokers as transports
from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.observe.finding import Check, Patient, Result, bad, fine, warn
from penstock.storage import dead_messages, relay, workers

_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """By one worker about the broker of one of its stages."""

    worker: str
    transport: str
    problem: str | None
    next_step: str | None


async def in_use(patient: Patient) -> Result:
    """Workers go on without a broker, from PostgreSQL; somebody chose it all the same."""
    told = _told(one for one in await workers.listing(patient.connection) if one["live"])
    if not told:
        return fine("No live worker uses a broker.")
    troubled = {(one.worker, one.problem): one for one in told if one.problem is not None}
    if troubled:
        one = next(iter(troubled.values()))
        others = len({worker for worker, _ in troubled}) - 1
        more = f" So say {others:,} more workers." if others > 1 else " So says another worker." if others else ""
        return bad(
            f"Worker {one.worker} says: {one.problem}{more}",
            f"{one.next_step or 'Look at its log.'} A changed setting needs a restart of that worker.",
        )
    names = sorted({one.transport for one in told})
    if silent := [name for name in names if not await relay.held(patient.connection, name)]:
        return warn(
            f"Workers hear of tasks from {' and '.join(silent)}, and nobody relays to it.",
            "Any worker does that whose settings name it; if it stays like this, read the log of one.",
        )
    count = len({one.worker for one in told})
    return fine(f"{' and '.join(names)} {_serves(names)} {count:,} {'worker' if count == 1 else 'workers'}.")


def _serves(names: list[str]) -> str:
    return "serves" if len(names) == 1 else "serve"


def _told(live: Iterable[Mapping[str, Any]]) -> list[_Told]:
    return [
        _Told(
            worker=worker["name"],
            transport=str(seen["transport"]),
            problem=seen.get("problem"),
            next_step=seen.get("next_step"),
        )
        for worker in live
        for seen in worker["status"].get("stages", {}).values()
        if seen.get("transport", "postgres") != "postgres"
    ]


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


CHECKS = (
    Check(name="brokers", look=answering),
    Check(name="brokers in use", look=in_use),
    Check(name="messages", look=unread),
)
