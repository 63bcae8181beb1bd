"""Getting in with a password: beside login links, for whoever has set one."""

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
import secrets
import unicodedata
from typing import TYPE_CHECKING, Any

from penstock.console.people import accounts
from penstock.console.people.accounts import Login
from penstock.console.storage import login_links, sessions, users
from penstock.console.storage.users import User
from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.storage import audit

if TYPE_CHECKING:
    from penstock.application import Penstock

# ---------------------------------------------------------------- as they are kept

# scrypt, with its parameters in the text, so that they can grow and nobody is locked out. People choose passwords, so
# they can be guessed, and each guess has to cost: about a tenth of a second and 32 MiB.
_LOG2_N, _R, _P = 15, 8, 1
_MOST_LOG2_N = 20
_SALT_BYTES = 16
_KEY_BYTES = 32
_MOST_MEMORY_BYTES = 128 * 1024 * 1024
_AT_A_TIME = 2


class PasswordHashes:
    """``make`` and ``fits``; one per process that takes passwords. It looks at two at a time, so that attempts cannot
    take its memory; and in a thread, so that it goes on answering."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def make(self, password: str) -> str:
        async with self._turns:
            return await asyncio.to_thread(make_hash, password)

    async def fits(self, password: str, kept: str | None) -> bool:
        """Takes as long for nobody's password (None) as for a wrong one."""
        async with self._turns:
            return await asyncio.to_thread(hash_fits, password, kept)


def make_hash(password: str) -> str:
    salt = secrets.token_bytes(_SALT_BYTES)
    key = _derived(password, salt, _LOG2_N, _R, _P)
    return f"scrypt${_LOG2_N}${_R}${_P}${_text(salt)}${_text(key)}"


def hash_fits(password: str, kept: str | None) -> bool:
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


# ---------------------------------------------------------------- which will do

# Length is what counts against guessing, so no rule asks for digits and signs, which only makes people write
# `Password1!`; but what everybody would try first is refused, however long it is.
SHORTEST = 12
LONGEST = 200
_LEAST_DIFFERENT = 5
_LEAST_BESIDE_NAME = 8
_OBVIOUS = frozenset(
    (
        "password",
        "passwort",
        "passphrase",
        "changeme",
        "changemenow",
        "letmein",
        "letmeinplease",
        "welcome",
        "welcomeback",
        "secret",
        "topsecret",
        "qwerty",
        "qwertz",
        "azerty",
        "qwertyuiop",
        "qwertzuiop",
        "asdfghjkl",
        "abcdefghijkl",
        "abcdefghijklm",
        "iloveyou",
        "administrator",
        "admin",
        "root",
        "penstock",
        "correcthorsebatterystaple",
        "correcthorse",
        "trustno",
        "dragon",
        "monkey",
        "football",
        "default",
        "test",
        "testing",
    )
)
_DIGITS = ("01234567890123456789", "98765432109876543210", "12345678901234567890")


def problem_with(password: str, *, name: str) -> str | None:
    """What is wrong with it, as half a sentence; None: nothing."""
    folded = unicodedata.normalize("NFKC", password).casefold()
    if len(password) < SHORTEST:
        return f"use {SHORTEST} characters or more; a few words in a row are easy to remember"
    if len(password) > LONGEST:
        return f"use at most {LONGEST} characters"
    if len(set(folded)) < _LEAST_DIFFERENT:
        return f"use at least {_LEAST_DIFFERENT} different characters"
    if len(folded.replace(name.casefold(), "")) < _LEAST_BESIDE_NAME:
        return "it is little more than your name"
    if _is_obvious(folded):
        return "it is one of the first that anybody would try"
    return None


def _is_obvious(folded: str) -> bool:
    """Also twice in a row, and with digits and signs around and between."""
    letters = re.sub(r"[\W\d_]+", "", folded)
    digits = re.sub(r"\D+", "", folded)
    if not letters:
        return any(digits in row for row in _DIGITS)
    # `password1234` is the word and a row of digits; `password 8151 lamp` is not.
    half = letters[: len(letters) // 2]
    return letters in _OBVIOUS or (letters == half * 2 and half in _OBVIOUS)


# ---------------------------------------------------------------- getting in, and changing them

_WRONG = "The current password is another one. Whoever forgot it asks an admin to remove it."


async def log_in(
    app: "Penstock", hashes: PasswordHashes, name: str, password: str, *, agent: str | None, by: By
) -> Login | None:
    """Starts a session. None: unknown, disabled, without a password, or a wrong one; which, nobody is told."""
    known = re.fullmatch(accounts.NAME_PATTERN, name) is not None
    async with app.connection() as connection:
        kept = await users.password_hash(connection, name) if known else None
    fits = await hashes.fits(password, kept)
    async with accounts.changing(app) as connection:
        user = None
        if fits and kept is not None:
            user = await users.holding_password(connection, name, kept)
        if user is None:
            # Only names of users are written down: what else is typed there may be a password.
            there = known and await users.by_name(connection, name) is not None
            about = {"kind": "user", "object": name, "owner": name} if there else {}
            await audit.append(connection, by.entry("login.refused", **about, way="password"))
            return None
        return await accounts.start_session(connection, user, by, agent=agent, way="password")


async def change(
    app: "Penstock",
    hashes: PasswordHashes,
    name: str,
    *,
    current: str | None,
    new: str,
    session: str | None = None,
    by: By,
) -> User:
    """One's own. Where there is one already, it has to be given. Other sessions end, and so do open login links."""
    _check(new, name)
    async with app.connection() as connection:
        kept = await users.password_hash(connection, name)
    if kept is not None and not await hashes.fits(current or "", kept):
        raise UsageError(_WRONG)
    made = await hashes.make(new)
    async with accounts.changing(app) as connection:
        await users.lock(connection, name)
        # Of who is disabled no password is found, and none would be asked for.
        await accounts.enabled(connection, name)
        # Of two changes at the same moment the second has not seen the password it replaces.
        if await users.password_hash(connection, name) != kept:
            raise UsageError(_WRONG)
        return await _replace(connection, name, made, session=session, by=by)


async def put(app: "Penstock", hashes: PasswordHashes, name: str, new: str, *, by: By) -> User:
    """By whoever may use the database itself."""
    _check(new, name)
    made = await hashes.make(new)
    async with accounts.changing(app) as connection:
        await users.lock(connection, name)
        await accounts.enabled(connection, name)
        return await _replace(connection, name, made, session=None, by=by)


async def remove(app: "Penstock", name: str, *, session: str | None = None, by: By) -> User:
    """By an admin. Sessions end as well: the password may be in the wrong hands."""
    async with accounts.changing(app) as connection:
        await users.lock(connection, name)
        await accounts.known(connection, name)
        return await _replace(connection, name, None, session=session, by=by)


def _check(password: str, name: str) -> None:
    if (problem := problem_with(password, name=name)) is not None:
        raise UsageError(f"This password will not do: {problem}.")


async def _replace(connection: Any, name: str, made: str | None, *, session: str | None, by: By) -> User:
    user = await users.set_password(connection, name, made)
    assert user is not None  # it is locked
    kept = None if session is None else accounts.hashed(session)
    ended = await sessions.revoke_others(connection, name, keep=kept)
    await login_links.use_up(connection, user.id)
    action = "user.password" if made is not None else "user.password_removed"
    await audit.append(connection, by.entry(action, kind="user", object=name, owner=name, sessions_ended=ended))
    return user
