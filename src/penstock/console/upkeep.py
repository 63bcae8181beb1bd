"""What the upkeep of the fleet removes from the tables of the console: registered in ``pyproject.toml``."""

from typing import Any

from penstock.console.storage import files, login_links, selections, sessions

_BATCH = 1000
_FILES = 2000
_ENDED_LOGINS_KEPT_SECONDS = 30 * 86_400.0


async def forget(connection: Any, kept_seconds: float) -> dict[str, int]:
    """What has had its time."""
    return {
        "sessions": await sessions.forget(connection, _ENDED_LOGINS_KEPT_SECONDS, _BATCH),
        "login_links": await login_links.forget(connection, _ENDED_LOGINS_KEPT_SECONDS, _BATCH),
        "selections": await selections.forget(connection, kept_seconds, _BATCH),
    }


async def discard_cut_uploads(connection: Any) -> dict[str, int]:
    cut = await files.unfinished(connection, _FILES)
    if cut:
        await files.discard(connection, cut)
    return {"uploads": len(cut)}
