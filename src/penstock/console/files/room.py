"""How much one owner may have unfinished at once: jobs, and items."""

from typing import Any

from penstock.application import Penstock
from penstock.errors import LimitReached
from penstock.storage import items


async def require_room(app: Penstock, owner: str, *, connection: Any = None, adding: int = 0) -> None:
    """Raises :class:`LimitReached`. With a ``connection``, the owner's submissions take turns until its transaction
    ends, so that two at the same moment cannot both take the last place."""
    if connection is None:
        async with app.connection() as own:
            jobs, waiting = await items.load_of_owner(own, owner)
    else:
        await items.take_turn(connection, owner)
        jobs, waiting = await items.load_of_owner(connection, owner)
    settings = app.settings
    if jobs >= settings.owner_max_jobs:
        raise LimitReached(owner=owner, what="jobs", have=jobs, most=settings.owner_max_jobs)
    if waiting + adding > settings.owner_max_items or waiting >= settings.owner_max_items:
        raise LimitReached(owner=owner, what="items", have=waiting + adding, most=settings.owner_max_items)


async def has_room(app: Penstock, owner: str) -> bool:
    """Whether further rows of an open import may be stored now."""
    async with app.connection() as connection:
        _, waiting = await items.load_of_owner(connection, owner)
    return waiting < app.settings.owner_max_items
