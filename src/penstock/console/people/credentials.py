"""Secrets that let somebody in: how they are made, how they are kept, how long they count.

All are 256 random bits, so a plain SHA-256 cannot be guessed back, and a look-up by it tells nothing by its time.
"""

import hashlib
import secrets

TOKEN_PREFIX = "pst_"
LINK_SECONDS = 15 * 60.0
SESSION_IDLE_SECONDS = 12 * 3600.0
SESSION_LONGEST_SECONDS = 7 * 86_400.0
_BYTES = 32
_HINT_CHARACTERS = 8


def new_token() -> str:
    """The prefix lets people, and scanners of leaked files, see what it is."""
    return TOKEN_PREFIX + secrets.token_urlsafe(_BYTES)


def new_code() -> str:
    """For login links and session cookies."""
    return secrets.token_urlsafe(_BYTES)


def hashed(secret: str) -> bytes:
    """As tokens, sessions and login links are kept."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def hint_of(token: str) -> str:
    """Enough to tell one's tokens apart, far too little to use one."""
    return token[:_HINT_CHARACTERS]
