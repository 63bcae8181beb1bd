"""`/api/me`: who am I."""

from datetime import datetime

from fastapi import APIRouter, Request
from pydantic import Field

from penstock.engine import preferences
from penstock.service.actor import Role, Viewer
from penstock.service.api.settings import Flags
from penstock.service.ground import ground_of
from penstock.service.problems import documented
from penstock.service.wire import Wire
from penstock.storage import users

router = APIRouter(prefix="/api/me", tags=["me"], responses=documented())


class Me(Wire):
    name: str
    role: Role
    password_changed_at: datetime | None = Field(description="Null: there is no password.")
    flags: Flags


@router.get("", operation_id="me")
async def me(request: Request, actor: Viewer) -> Me:
    """The user that the token or session belongs to, and what is switched on."""
    ground = ground_of(request)
    async with ground.app.connection() as connection:
        user = await users.by_name(connection, actor.name)
        flags = await preferences.flags(connection, ground.settings)
    changed = None if user is None else user.password_changed_at
    return Me(name=actor.name, role=actor.role, password_changed_at=changed, flags=Flags.model_validate(flags))
