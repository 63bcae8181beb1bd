"""Who asks: from a bearer token or the session cookie, and what they may see."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from penstock.service.ground import Ground, ground_of
from penstock.service.problems import Problem
from penstock.storage import audit, tokens

COOKIE = "penstock_session"
_bearer = HTTPBearer(auto_error=False, description="A token of `penstock tokens create`.")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="Set by the login page.")


class Role(StrEnum):
    """What a user may do. Each role holds what the one before it may."""

    viewer = "viewer"
    operator = "operator"
    admin = "admin"

    @property
    def rank(self) -> int:
        return list(Role).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    name: str
    role: Role
    ip: str | None
    request_id: str

    @property
    def is_admin(self) -> bool:
        return self.role is Role.admin

    def entry(
        self, action: str, *, kind: str | None = None, object: object = None, owner: str | None = None, **details: Any
    ) -> audit.Entry:
        """What the audit log keeps about an act of this actor."""
        return audit.Entry(
            actor=self.name,
            action=action,
            ip=self.ip,
            kind=kind,
            object=None if object is None else str(object),
            owner=owner,
            request_id=self.request_id,
            details=details,
        )


def hashed(secret: str) -> bytes:
    """As tokens, sessions and login links are kept."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


async def current(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> Actor:
    ground = ground_of(request)
    found = await _holder(ground, bearer, cookie)
    if found is None:
        raise Problem(
            401,
            "A valid token is needed: `Authorization: Bearer …`. `penstock tokens create` makes one.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    name, role = found
    ip = request.client.host if request.client else None
    return Actor(name=name, role=Role(role), ip=ip, request_id=request.state.request_id)


async def _holder(
    ground: Ground, bearer: HTTPAuthorizationCredentials | None, cookie: str | None
) -> tuple[str, str] | None:
    async with ground.app.connection() as connection:
        if bearer is not None:
            return await tokens.holder(connection, hashed(bearer.credentials))
    return None


class _AtLeast:
    """A dependency that refuses lower roles."""

    def __init__(self, role: Role) -> None:
        self._role = role

    def __call__(self, actor: Annotated[Actor, Depends(current)]) -> Actor:
        if actor.role.rank < self._role.rank:
            raise Problem(403, f"This needs the role {self._role}; {actor.name} is {actor.role}.")
        return actor


# viewer: reads its own objects and the fleet's state. operator: submits and controls its own work, and runs the fleet.
# admin: also others' objects (audited), users and tokens.
Viewer = Annotated[Actor, Depends(_AtLeast(Role.viewer))]
Operator = Annotated[Actor, Depends(_AtLeast(Role.operator))]
Admin = Annotated[Actor, Depends(_AtLeast(Role.admin))]
