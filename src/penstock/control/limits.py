"""What people do with fleet-wide budgets: look, set, remove, block."""

import math
from dataclasses import replace
from typing import Any

from penstock.core.app import App, Standing
from penstock.errors import InvalidSetting, NotKnown, UsageError
from penstock.model import LONGEST_SECONDS
from penstock.observe.changes import tell_steered
from penstock.storage import circuits, limits
from penstock.storage.limits import LimitView

# There may be a key per host: a refusal does not list them all.
_NAMED = 50


async def listing(app: App, *, after: str = "", limit: int | None = None) -> list[LimitView]:
    """What is left of every budget right now, and what holds a key up; a page of it behind the key ``after``.

    Where limits are counted in Redis it is asked; what it does not tell, because it is away or says no, is not known.
    """
    async with app.connection() as connection:
        views = await limits.listing(connection, after=after, limit=limit)
    if not views or views[0].store != "redis":
        return views
    standings = await app.counted_in_redis.standings(views)
    if standings is None:
        return [replace(view, available=None) for view in views]
    return [
        replace(
            view,
            available=None if left.available is None else math.floor(left.available),
            blocked_seconds=max(view.blocked_seconds, left.blocked_seconds),
            opens_in_seconds=_opens_in(view, left),
        )
        for view, left in zip(views, standings, strict=True)
    ]


def _opens_in(view: LimitView, left: Standing) -> float:
    blocked = max(view.blocked_seconds, left.blocked_seconds)
    missing = 0.0 if left.available is None or not view.rate else (1 - left.available) / view.rate
    return max(blocked, missing, 0.0)


async def configure(
    app: App,
    key: str,
    rate: float,
    burst: int = 1,
    *,
    by: str,
    circuit_failures: int | None = None,
    circuit_seconds: float | None = None,
) -> None:
    """Limit a key, or change its limit; what was used stays used.

    With a circuit nobody calls for ``circuit_seconds`` after ``circuit_failures`` failures in a row, and then one call
    is tried. 0 failures take the circuit away; without the two it stays as it is.
    """
    if (circuit_failures in (None, 0)) != (circuit_seconds is None):
        raise UsageError(
            f"The circuit of limit {key!r} needs both: after how many failures in a row it opens, and for how many"
            f" seconds (given: {circuit_failures} and {circuit_seconds}). 0 failures alone take it away."
        )
    async with app.connection() as connection, connection.transaction():
        await limits.configure(connection, key, rate, burst)
        if circuit_failures and circuit_seconds is not None:
            await circuits.configure(connection, key, circuit_failures, circuit_seconds)
        elif circuit_failures == 0:
            await circuits.remove(connection, key)
        await tell_steered(connection, touched=("limit", key))
    circuit = {"circuit_failures": circuit_failures, "circuit_seconds": circuit_seconds}
    await _steered(app, key, "set", by=by, rate=rate, burst=burst, **circuit)


async def remove(app: App, key: str, *, by: str) -> None:
    """Neither limited nor blocked any more."""
    async with app.connection() as connection:
        if not await limits.remove(connection, key):
            known = [view.key for view in await limits.listing(connection, limit=_NAMED)]
            raise NotKnown(kind="limit", name=key, known=known)
        await tell_steered(connection, touched=("limit", key))
    await _steered(app, key, "remove", by=by)


async def block(app: App, key: str, seconds: float, *, by: str, reason: str | None = None) -> float:
    """Close a key for everybody, as an answer 429 would; a longer block stays. Returns for how many seconds."""
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise InvalidSetting("seconds", seconds, "use 0 seconds to 10 years")
    async with app.connection() as connection:
        blocked = await limits.penalise(connection, key, seconds, reason)
        await tell_steered(connection, touched=("limit", key))
    await _steered(app, key, "block", by=by, seconds=blocked.seconds_left, reason=reason)
    return blocked.seconds_left


async def _steered(app: App, key: str, move: str, **more: Any) -> None:
    await app.counted_in_redis.tell(key)
    app.events.emit("limits.steered", key=key, move=move, **more)


async def forget_unused(app: App, prefix: str, *, unused_seconds: float) -> int:
    """Remove the limits of keys that begin with ``prefix`` and were not used for so long. Returns how many."""
    removed = 0
    while True:
        async with app.connection() as connection:
            gone = await limits.forget_unused(connection, prefix, unused_seconds=unused_seconds)
        removed += gone
        if gone == 0:
            return removed
