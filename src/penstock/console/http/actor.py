"""Who asks: from a bearer token or the session cookie, and what they may see."""

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param

from penstock.console.http.ground import ground_of
from penstock.console.http.problems import Problem
from penstock.console.people.accounts import SESSION_IDLE_SECONDS, SESSION_LONGEST_SECONDS, hashed
from penstock.console.storage import sessions, tokens
from penstock.control.acting import By, Role
from penstock.storage import audit

__all__ = [
    "COOKIE",
    "Actor",
    "Admin",
    "By",
    "Operator",
    "Role",
    "SignedIn",
    "Viewer",
    "current",
    "hashed",
    "is_known",
    "session_of",
]

COOKIE = "penstock_session"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_bearer = HTTPBearer(auto_error=False, description="A token of `penstock tokens create`.")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="Set by the login page.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    name: str
    role: Role
    ip: str | None
    request_id: str

    @property
    def is_admin(self) -> bool:
        return self.role is Role.admin

    @property
    def by(self) -> By:
        """The same for functions of the engine that write the audit log themselves."""
        return By(actor=self.name, ip=self.ip, request_id=self.request_id)

    def entry(
        self, action: str, *, kind: str | None = None, object: object = None, owner: str | None = None, **details: Any
    ) -> audit.Entry:
        """What the audit log keeps about an act of this actor."""
        return self.by.entry(action, kind=kind, object=object, owner=owner, **details)


async def current(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> Actor:
    """With both, the token counts, also when it is wrong: whoever sends one means it."""
    found = await (_holder_of_token(request, bearer.credentials) if bearer else _holder_of_session(request, cookie))
    if found is None:
        raise Problem(
            401,
            "A valid token is needed: `Authorization: Bearer …`. `penstock tokens create` makes one.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    request.state.known = True
    name, role = found
    ip = request.client.host if request.client else None
    return Actor(name=name, role=Role(role), ip=ip, request_id=request.state.request_id)


async def is_known(request: Request) -> bool:
    """Whether the credentials hold, asked before more than a little of a body is read."""
    token = _token_of(request)
    found = await (_holder_of_token(request, token) if token else _holder_of_session(request, session_of(request)))
    return found is not None


async def _holder_of_token(request: Request, token: str) -> tuple[str, str] | None:
    async with ground_of(request).app.connection() as connection:
        return await tokens.holder(connection, hashed(token))


async def _holder_of_session(request: Request, cookie: str | None) -> tuple[str, str] | None:
    """A browser sends the cookie by itself, so a change has to come from a page of ours."""
    if not cookie:
        return None
    async with ground_of(request).app.connection() as connection:
        found = await sessions.holder(
            connection,
            hashed(cookie),
            idle_seconds=SESSION_IDLE_SECONDS,
            longest_seconds=SESSION_LONGEST_SECONDS,
        )
    if found is not None and request.method not in _SAFE_METHODS and from_elsewhere(request, unknown=True):
        raise Problem(
            403,
            "A request with the session cookie has to come from this site: its `Origin` must be the `Host` it asks. "
            "Scripts use a token instead: `Authorization: Bearer …`.",
        )
    return found


def session_of(request: Request) -> str | None:
    """The cookie, where it is what let the request in. A header that is no token's, as proxies add, does not matter."""
    return None if _token_of(request) else request.cookies.get(COOKIE)


def _token_of(request: Request) -> str | None:
    scheme, token = get_authorization_scheme_param(request.headers.get("authorization"))
    return token if scheme.lower() == "bearer" and token else None


class _AtLeast:
    """A dependency that refuses lower roles."""

    def __init__(self, role: Role) -> None:
        self._role = role

    # Not a plain function, which would be called in a thread for every request.
    async def __call__(self, actor: Annotated[Actor, Depends(current)]) -> Actor:
        if actor.role.rank < self._role.rank:
            raise Problem(403, f"This needs the role {self._role}; {actor.name} is {actor.role}.")
        return actor


async def _with_session(request: Request, actor: Annotated[Actor, Depends(current)]) -> Actor:
    """Who found a token must not turn it into something that outlives its revocation."""
    if session_of(request) is None:
        raise Problem(
            403,
            "This route requires a session; API tokens are not accepted. Sign in with a browser, or run `penstock"
            " tokens create`, `penstock users password` or `penstock users login` on the server.",
        )
    return actor


# viewer: reads its own objects and the fleet's state. operator: submits and controls its own work, and runs the fleet.
# admin: also others' objects (audited), users and tokens.
viewer = _AtLeast(Role.viewer)
Viewer = Annotated[Actor, Depends(viewer)]
Operator = Annotated[Actor, Depends(_AtLeast(Role.operator))]
Admin = Annotated[Actor, Depends(_AtLeast(Role.admin))]
# Of any role, and by the session cookie.
SignedIn = Annotated[Actor, Depends(_with_session)]


def from_elsewhere(request: Request, *, unknown: bool) -> bool:
    """Whether a page of another site made the browser send this (CSRF). ``unknown``: the answer where no header tells.

    The scheme is not compared: behind a proxy that ends TLS we see http, the browser https.
    """
    origin = request.headers.get("origin")
    if origin is not None:
        return _host_of(origin) != request.headers.get("host", "").lower()
    fetched_from = request.headers.get("sec-fetch-site")
    return unknown if fetched_from is None else fetched_from != "same-origin"


def _host_of(origin: str) -> str | None:
    """None for ``null``, which sandboxed pages send, and for what is no origin."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() or None if parts.scheme in ("http", "https") else None
