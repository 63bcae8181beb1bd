"""What all processes of the service share. One function per query of ``sql/secrets.sql``."""

import secrets
from typing import Any

from penstock.storage.queries import load

_sql = load("secrets", "penstock.console.storage")


async def get_or_create(connection: Any, name: str) -> bytes:
    """256 random bits under that name, the same ones for everybody."""
    made = secrets.token_bytes(32)
    # Two at the same moment: the loser's statement does not see the winner's row yet, and looks again.
    while (value := await connection.fetchval(_sql.get_or_create, name, made)) is None:
        pass
    return bytes(value)
