"""`/api/me/sessions`: the browsers one is signed in with. Nobody sees or ends another's here, admins neither."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field

from penstock.engine import own_sessions
from penstock.service.actor import Viewer, session_of
from penstock.service.devices import device
from penstock.service.ground import ground_of
from penstock.service.problems import documented
from penstock.service.wire import MOST_ID, Wire

router = APIRouter(prefix="/api/me/sessions", tags=["me"], responses=documented())

SessionId = Annotated[int, Path(alias="sessionId", ge=1, le=MOST_ID)]


class SessionView(Wire):
    session_id: int
    device: str = Field(description="What the browser says it is, in a few words.")
    ip: str | None
    created_at: datetime
    last_seen_at: datetime = Field(description="To the minute.")
    expires_at: datetime = Field(description="Unless it is used until then.")
    current: bool = Field(description="The one that asks.")


class Sessions(Wire):
    items: list[SessionView] = Field(description=f"At most {own_sessions.MOST}.")


class Ended(Wire):
    ended: int


@router.get("", operation_id="listMySessions")
async def list_my_sessions(request: Request, actor: Viewer) -> Sessions:
    """Those that count, the last used first."""
    found = await own_sessions.listing(ground_of(request).app, actor.name, secret=session_of(request))
    items = [
        SessionView(
            session_id=one.id,
            device=device(one.agent),
            ip=one.ip,
            created_at=one.created_at,
            last_seen_at=one.last_seen_at,
            expires_at=one.expires_at,
            current=one.current,
        )
        for one in found
    ]
    return Sessions(items=items)


@router.delete("", operation_id="endOtherSessions")
async def end_other_sessions(request: Request, actor: Viewer) -> Ended:
    """All but the one that asks; with a token, all."""
    app = ground_of(request).app
    return Ended(ended=await own_sessions.end_others(app, secret=session_of(request), by=actor.by))


@router.delete("/{sessionId}", operation_id="endMySession", status_code=204)
async def end_my_session(request: Request, actor: Viewer, session_id: SessionId) -> None:
    """That browser is out with its next request."""
    await own_sessions.end(ground_of(request).app, session_id, by=actor.by)
