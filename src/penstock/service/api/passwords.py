"""`/api/me/password`: one's own password."""

import math
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field, StringConstraints

from penstock.engine import passwords
from penstock.engine.password_rules import LONGEST, SHORTEST
from penstock.service.actor import SignedIn, session_of
from penstock.service.ground import ground_of
from penstock.service.problems import Problem, documented
from penstock.service.wire import Wire

router = APIRouter(prefix="/api/me/password", tags=["me"], responses=documented(429))

Secret = Annotated[str, StringConstraints(max_length=LONGEST)]


class PasswordRequest(Wire):
    current: Secret | None = Field(None, description="Needed where there is one already.")
    new: Secret = Field(min_length=SHORTEST, description="Not your name, and not one that anybody would try first.")


class PasswordView(Wire):
    password_changed_at: datetime | None


@router.put("", operation_id="changeMyPassword")
async def change_my_password(request: Request, actor: SignedIn, wanted: PasswordRequest) -> PasswordView:
    """Needs a session: a token sets no password. Every session but the one that asks ends. Tokens go on counting:
    revoke them where they are in doubt."""
    ground = ground_of(request)
    if (wait := ground.password_attempts.wait_seconds(actor.name)) > 0:
        seconds = math.ceil(wait)
        raise Problem(429, f"Too many attempts. Try again in {seconds} seconds.", headers={"Retry-After": str(seconds)})
    changed = await passwords.change(
        ground.app,
        ground.password_hashes,
        actor.name,
        current=wanted.current,
        new=wanted.new,
        session=session_of(request),
        by=actor.by,
    )
    return PasswordView(password_changed_at=changed.password_changed_at)
