"""Getting in with a password: beside login links, for whoever has set one."""

import re
from typing import TYPE_CHECKING, Any

from penstock.console.people import accounts, credentials
from penstock.console.people.accounts import NOBODY, Login
from penstock.console.people.password_hash import PasswordHashes
from penstock.console.people.password_rules import problem_with
from penstock.console.storage import login_links, sessions, users
from penstock.console.storage.users import User
from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.storage import audit

if TYPE_CHECKING:
    from penstock.application import Penstock


_WRONG = "The current password is another one. Whoever forgot it asks an admin to remove it."


async def log_in(
    app: "Penstock",
    hashes: PasswordHashes,
    name: str,
    password: str,
    *,
    ip: str | None,
    agent: str | None,
    request_id: str,
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
            by = By(actor=NOBODY, ip=ip, request_id=request_id)
            await audit.append(connection, by.entry("login.refused", **about, way="password"))
            return None
        by = By(actor=user.name, ip=ip, request_id=request_id)
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
    kept = None if session is None else credentials.hashed(session)
    ended = await sessions.revoke_others(connection, name, keep=kept)
    await login_links.use_up(connection, user.id)
    action = "user.password" if made is not None else "user.password_removed"
    await audit.append(connection, by.entry(action, kind="user", object=name, owner=name, sessions_ended=ended))
    return user
