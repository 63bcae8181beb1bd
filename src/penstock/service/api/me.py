"""`/api/me`: who am I."""

from fastapi import APIRouter

from penstock.service.actor import Role, Viewer
from penstock.service.problems import documented
from penstock.service.wire import Wire

router = APIRouter(prefix="/api/me", tags=["me"], responses=documented())


class Me(Wire):
    name: str
    role: Role


@router.get("", operation_id="me")
async def me(actor: Viewer) -> Me:
    """The user that the token or session belongs to."""
    return Me(name=actor.name, role=actor.role)
