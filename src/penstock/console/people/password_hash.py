"""Passwords as they are kept: scrypt, with its parameters in the text, so that they can grow and nobody is locked out.

People choose passwords, so they can be guessed, and each guess has to cost: about a tenth of a second and 32 MiB. At
most two are looked at at a time in a process, so that attempts cannot take its memory; and in a thread, so that it goes
on answering.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import unicodedata

_LOG2_N, _R, _P = 15, 8, 1
_MOST_LOG2_N = 20
_SALT_BYTES = 16
_KEY_BYTES = 32
_MOST_MEMORY_BYTES = 128 * 1024 * 1024
_AT_A_TIME = 2


class PasswordHashes:
    """``make`` and ``fits``; one per process that takes passwords."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def make(self, password: str) -> str:
        async with self._turns:
            return await asyncio.to_thread(make, password)

    async def fits(self, password: str, kept: str | None) -> bool:
        """Takes as long for nobody's password (None) as for a wrong one."""
        async with self._turns:
            return await asyncio.to_thread(fits, password, kept)


def make(password: str) -> str:
    salt = secrets.token_bytes(_SALT_BYTES)
    key = _derived(password, salt, _LOG2_N, _R, _P)
    return f"scrypt${_LOG2_N}${_R}${_P}${_text(salt)}${_text(key)}"


def fits(password: str, kept: str | None) -> bool:
    """A text that nobody here wrote fits no password."""
    try:
        _, log2_n, r, p, salt, key = (kept or _NOBODYS).split("$")
        if not 1 <= int(log2_n) <= _MOST_LOG2_N:
            return False
        wanted = base64.b64decode(key, validate=True)
        made = _derived(password, base64.b64decode(salt, validate=True), int(log2_n), int(r), int(p))
    except (ValueError, OverflowError, binascii.Error, MemoryError):
        return False
    return hmac.compare_digest(made, wanted) and kept is not None


def _derived(password: str, salt: bytes, log2_n: int, r: int, p: int) -> bytes:
    # The same password may be typed in two ways on two keyboards: é as one sign or as two.
    plain = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
    return hashlib.scrypt(plain, salt=salt, n=1 << log2_n, r=r, p=p, maxmem=_MOST_MEMORY_BYTES, dklen=_KEY_BYTES)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# What is compared with where there is nothing to compare: as slow as the real thing.
_NOBODYS = f"scrypt${_LOG2_N}${_R}${_P}${_text(bytes(_SALT_BYTES))}${_text(bytes(_KEY_BYTES))}"
