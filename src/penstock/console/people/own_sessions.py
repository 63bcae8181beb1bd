"""The browsers one is signed in with, and ending them from another one."""

from typing import TYPE_CHECKING

from penstock.console.people import accounts, credentials
from penstock.console.storage import sessions
from penstock.console.storage.sessions import Session
from penstock.control.acting import By
from penstock.errors import NotKnown
from penstock.storage import audit

if TYPE_CHECKING:
    from penstock.application import Penstock

# They last a week at most, so that more are hardly ever there.
MOST = 200


async def listing(app: "Penstock", name: str, *, secret: str | None) -> list[Session]:
    """Those that count, the last used first; ``secret`` is the cookie of the one that asks."""
    async with app.connection() as connection:
        return await sessions.listing(connection, name, hash=_hashed(secret), limit=MOST)


async def end(app: "Penstock", session_id: int, *, by: By) -> None:
    async with accounts.changing(app) as connection:
        if not await sessions.revoke_one(connection, session_id, user_name=by.actor):
            raise NotKnown(kind="session", name=str(session_id))
        await audit.append(connection, by.entry("session.end", kind="session", object=session_id, owner=by.actor))


async def end_others(app: "Penstock", *, secret: str | None, by: By) -> int:
    """All but the one that asks."""
    async with accounts.changing(app) as connection:
        ended = await sessions.revoke_others(connection, by.actor, keep=_hashed(secret))
        about = {"kind": "user", "object": by.actor, "owner": by.actor}
        await audit.append(connection, by.entry("session.end_others", **about, ended=ended))
    return ended


def _hashed(secret: str | None) -> bytes | None:
    return None if secret is None else credentials.hashed(secret)
