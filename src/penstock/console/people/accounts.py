"""Users, their tokens and their logins, as the command line and the service both need them.

Every change writes its audit entry in its own transaction: there is none without the other.
"""

import hashlib
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.console.storage import login_links, sessions, tokens, users
from penstock.console.storage.sessions import Session
from penstock.console.storage.tokens import Token
from penstock.console.storage.users import User
from penstock.control.acting import By, Role
from penstock.errors import InvalidSetting, NotKnown, UsageError
from penstock.storage import audit

if TYPE_CHECKING:
    from penstock.application import Penstock

# Secrets that let somebody in are 256 random bits, so a plain SHA-256 cannot be guessed back, and a look-up by it tells
# nothing by its time.
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


FIRST_ADMIN = "admin"
NAME_PATTERN = r"^[a-z0-9][a-z0-9._@-]{0,99}$"
TOKEN_NAME_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]*$"
LONGEST_TOKEN_NAME = 200
MOST_TOKEN_DAYS = 3650
_FROM_THE_NEWEST = 2**63 - 1
_LONGEST_AGENT = 300
# No user can be called so.
NOBODY = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """``secret`` is shown now and never again."""

    id: int
    secret: str
    hint: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A new session; ``secret`` goes into the cookie."""

    user: str
    role: Role
    secret: str


# ---------------------------------------------------------------- users


async def create_user(app: "Penstock", name: str, role: Role, *, by: By) -> User:
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise InvalidSetting(
            "user name",
            name,
            "use 1 to 100 lower-case letters, digits, '.', '_', '@' and '-', beginning with a letter or digit",
        )
    async with changing(app) as connection:
        made = await users.create(connection, name=name, role=role)
        if made is None:
            raise UsageError(f"There is a user {name!r} already. Names are never given twice; choose another one.")
        await audit.append(connection, by.entry("user.create", kind="user", object=name, owner=name, role=role))
    return made


async def list_users(app: "Penstock", *, after: str = "", limit: int) -> list[User]:
    """By name, behind ``after``."""
    async with app.connection() as connection:
        return await users.listing(connection, after=after, limit=limit)


async def change_user(
    app: "Penstock", name: str, *, role: Role | None = None, disabled: bool | None = None, by: By
) -> User:
    """What is None stays. A disabled user is out at once, everywhere; enabled again, their tokens count, and their old
    sessions do not.

    The last admin who can log in stays one: nobody could undo it through the service.
    """
    async with changing(app) as connection:
        await users.lock(connection, name)
        before = await known(connection, name)
        loses = (role is not None and role is not Role.admin) or disabled is True
        admin = before.role == Role.admin and before.disabled_at is None
        if admin and loses and not await users.other_admins(connection, name):
            raise UsageError(
                f"User {name!r} is the last admin who can log in. Make somebody else one first: "
                "`penstock users role NAME admin`."
            )
        after = await users.change(connection, name, role=role, disabled=disabled)
        assert after is not None  # it is locked
        if disabled:
            await sessions.revoke_all(connection, after.id)
            await login_links.use_up(connection, after.id)
        for entry in _changes(before, after, by):
            await audit.append(connection, entry)
    return after


def _changes(before: User, after: User, by: By) -> list[audit.Entry]:
    """One entry per thing that is really different now."""
    entries = []
    about: dict[str, Any] = {"kind": "user", "object": after.name, "owner": after.name}
    if before.role != after.role:
        entries.append(by.entry("user.role", **about, role=after.role, before=before.role))
    if (before.disabled_at is None) != (after.disabled_at is None):
        entries.append(by.entry("user.enable" if after.disabled_at is None else "user.disable", **about))
    return entries


# ---------------------------------------------------------------- tokens


async def create_token(
    app: "Penstock", user_name: str, *, name: str, expires_days: int | None = None, by: By
) -> NewToken:
    """Without ``expires_days`` it counts until it is revoked."""
    if not 1 <= len(name) <= LONGEST_TOKEN_NAME or re.fullmatch(TOKEN_NAME_PATTERN, name) is None:
        raise InvalidSetting("token name", name[:50], f"use 1 to {LONGEST_TOKEN_NAME} characters, on one line")
    if expires_days is not None and not 1 <= expires_days <= MOST_TOKEN_DAYS:
        raise InvalidSetting("expires_days", expires_days, f"use 1 to {MOST_TOKEN_DAYS:,} days")
    secret = new_token()
    hint = hint_of(secret)
    async with changing(app) as connection:
        user = await enabled(connection, user_name)
        token_id, expires_at = await tokens.create(
            connection,
            user_id=user.id,
            name=name,
            hash=hashed(secret),
            hint=hint,
            expires_days=expires_days,
        )
        about: dict[str, Any] = {"kind": "token", "object": token_id, "owner": user_name}
        await audit.append(connection, by.entry("token.create", **about, name=name, expires_days=expires_days))
    return NewToken(id=token_id, secret=secret, hint=hint, expires_at=expires_at)


async def list_tokens(
    app: "Penstock", *, user_name: str | None = None, before_id: int = _FROM_THE_NEWEST, limit: int
) -> list[Token]:
    """Newest first, revoked and expired ones too."""
    async with app.connection() as connection:
        if user_name is None:
            return await tokens.listing(connection, before_id=before_id, limit=limit)
        return await tokens.listing_of_user(connection, user_name, before_id=before_id, limit=limit)


async def revoke_token(app: "Penstock", token_id: int, *, user_name: str | None = None, by: By) -> Token:
    """Counts from the next request on. With ``user_name``, somebody else's token is as unknown as one never made."""
    async with changing(app) as connection:
        revoked = await tokens.revoke(connection, token_id, user_name=user_name)
        if revoked is None:
            raise NotKnown(kind="token", name=str(token_id))
        about: dict[str, Any] = {"kind": "token", "object": token_id, "owner": revoked.user_name}
        await audit.append(connection, by.entry("token.revoke", **about, name=revoked.name))
    return revoked


# ---------------------------------------------------------------- logins


async def first_admin(app: "Penstock") -> str | None:
    """Where nobody is there yet: makes the user ``admin`` and returns a one-time code for it. Else None."""
    by = By.command_line()
    async with changing(app) as connection:
        made = await users.create_first(connection, name=FIRST_ADMIN, role=Role.admin)
        if made is None:
            return None
        about = {"kind": "user", "object": made.name, "owner": made.name}
        await audit.append(connection, by.entry("user.create", **about, role=made.role, first=True))
        return await _new_link(connection, made, by)


async def login_code(app: "Penstock", name: str, *, by: By | None = None) -> str:
    """A fresh one-time code, for 15 minutes; ``login_path`` makes a link of it."""
    async with changing(app) as connection:
        return await _new_link(connection, await enabled(connection, name), by or By.command_line())


def login_path(code: str) -> str:
    """Behind the address of the service."""
    return f"/login?code={code}"


async def log_in(app: "Penstock", code: str, *, agent: str | None, by: By) -> Login | None:
    """Uses the link up and starts a session. None: the link is unknown, used or too old; which, nobody is told.
    ``by``: ``NOBODY`` yet, and from where."""
    async with changing(app) as connection:
        user = await login_links.use(connection, hashed(code))
        if user is None:
            await audit.append(connection, by.entry("login.refused"))
            return None
        return await start_session(connection, user, by, agent=agent, way="link")


async def start_session(connection: Any, user: User, by: By, *, agent: str | None, way: str) -> Login:
    """For somebody whose row is held, so that they are not disabled meanwhile. ``way``: what they showed."""
    by = replace(by, actor=user.name)
    secret = new_code()
    shown_agent = "".join(sign for sign in agent or "" if sign.isprintable())[:_LONGEST_AGENT] or None
    await sessions.create(
        connection,
        user_id=user.id,
        hash=hashed(secret),
        ip=by.ip,
        agent=shown_agent,
        idle_seconds=SESSION_IDLE_SECONDS,
    )
    await audit.append(connection, by.entry("login", kind="user", object=user.name, owner=user.name, way=way))
    return Login(user=user.name, role=Role(user.role), secret=secret)


async def log_out(app: "Penstock", secret: str, *, by: By) -> bool:
    """False: that was no session of theirs, or it had ended already."""
    async with changing(app) as connection:
        if not await sessions.revoke(connection, hashed(secret), user_name=by.actor):
            return False
        await audit.append(connection, by.entry("logout", kind="user", object=by.actor, owner=by.actor))
    return True


# ---------------------------------------------------------------- shared


@asynccontextmanager
async def changing(app: "Penstock") -> AsyncIterator[Any]:
    async with app.connection() as connection, connection.transaction():
        yield connection


async def require_user(app: "Penstock", name: str) -> None:
    """Work for somebody who does not exist would be seen by nobody."""
    async with app.connection() as connection:
        await known(connection, name)


async def known(connection: Any, name: str) -> User:
    if (found := await users.by_name(connection, name)) is None:
        raise NotKnown(kind="user", name=name)
    return found


async def enabled(connection: Any, name: str) -> User:
    found = await known(connection, name)
    if found.disabled_at is not None:
        raise UsageError(f"User {name!r} is disabled. `penstock users enable {name}` lets them in again.")
    return found


async def _new_link(connection: Any, user: User, by: By) -> str:
    code = new_code()
    await login_links.create(connection, hash=hashed(code), user_id=user.id, lasts_seconds=LINK_SECONDS)
    await audit.append(connection, by.entry("login.link", kind="user", object=user.name, owner=user.name))
    return code


# They last a week at most, so that more are hardly ever there.
MOST_SESSIONS = 200


async def list_sessions(app: "Penstock", name: str, *, secret: str | None) -> list[Session]:
    """Those that count, the last used first; ``secret`` is the cookie of the one that asks."""
    async with app.connection() as connection:
        return await sessions.listing(connection, name, hash=_hashed(secret), limit=MOST_SESSIONS)


async def end_session(app: "Penstock", session_id: int, *, by: By) -> None:
    async with changing(app) as connection:
        if not await sessions.revoke_one(connection, session_id, user_name=by.actor):
            raise NotKnown(kind="session", name=str(session_id))
        await audit.append(connection, by.entry("session.end", kind="session", object=session_id, owner=by.actor))


async def end_other_sessions(app: "Penstock", *, secret: str | None, by: By) -> int:
    """All but the one that asks."""
    async with changing(app) as connection:
        ended = await sessions.revoke_others(connection, by.actor, keep=_hashed(secret))
        about = {"kind": "user", "object": by.actor, "owner": by.actor}
        await audit.append(connection, by.entry("session.end_others", **about, ended=ended))
    return ended


def _hashed(secret: str | None) -> bytes | None:
    return None if secret is None else hashed(secret)
