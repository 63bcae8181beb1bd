"""Whose something is that the command line makes."""

from typing import TYPE_CHECKING

from penstock.errors import NotKnown, UsageError

if TYPE_CHECKING:
    from penstock.application import Penstock


async def require_owner(app: "Penstock", owner: str) -> None:
    """What belongs to somebody who does not exist would be seen by nobody over HTTP."""
    from penstock.console.people import accounts

    try:
        await accounts.require_user(app, owner)
    except NotKnown:
        if owner != accounts.FIRST_ADMIN:
            raise
        raise UsageError(
            f"There is no user {owner!r} yet: the first `penstock up` makes it. Start `penstock up` first, in another "
            "terminal, or name a user that is there with --owner."
        ) from None
