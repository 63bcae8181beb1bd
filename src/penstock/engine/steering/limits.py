"""What people do with fleet-wide budgets: look, set, remove, block."""

from typing import TYPE_CHECKING

from penstock.errors import InvalidSetting, NotKnown
from penstock.model import LONGEST_SECONDS
from penstock.storage import limits
from penstock.storage.limits import LimitView

if TYPE_CHECKING:
    from penstock.engine.app import Penstock

# There may be a key per host: a refusal does not list them all.
_NAMED = 50


async def listing(app: "Penstock", *, after: str = "", limit: int | None = None) -> list[LimitView]:
    """What is left of every budget right now, and what holds a key up; a page of it behind the key ``after``."""
    async with app.connection() as connection:
        return await limits.listing(connection, after=after, limit=limit)


async def configure(app: "Penstock", key: str, rate: float, burst: int = 1, *, by: str) -> None:
    """Limit a key, or change its limit; what was used stays used."""
    async with app.connection() as connection:
        await limits.configure(connection, key, rate, burst)
    app.events.emit("limits.steered", key=key, move="set", by=by, rate=rate, burst=burst)


async def remove(app: "Penstock", key: str, *, by: str) -> None:
    """Neither limited nor blocked any more."""
    async with app.connection() as connection:
        if not await limits.remove(connection, key):
            known = [view.key for view in await limits.listing(connection, limit=_NAMED)]
            raise NotKnown(kind="limit", name=key, known=known)
    app.events.emit("limits.steered", key=key, move="remove", by=by)


async def block(app: "Penstock", key: str, seconds: float, *, by: str, reason: str | None = None) -> float:
    """Close a key for everybody, as an answer 429 would; a longer block stays. Returns for how many seconds."""
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise InvalidSetting("seconds", seconds, "use 0 seconds to 10 years")
    async with app.connection() as connection:
        blocked = await limits.penalise(connection, key, seconds, reason)
    app.events.emit("limits.steered", key=key, move="block", by=by, seconds=blocked.seconds_left, reason=reason)
    return blocked.seconds_left


async def forget_unused(app: "Penstock", prefix: str, *, unused_seconds: float) -> int:
    """Remove the limits of keys that begin with ``prefix`` and were not used for so long. Returns how many."""
    removed = 0
    while True:
        async with app.connection() as connection:
            gone = await limits.forget_unused(connection, prefix, unused_seconds=unused_seconds)
        removed += gone
        if gone == 0:
            return removed
