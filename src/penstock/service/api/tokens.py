"""`/api/me/tokens`: one's own tokens. Nobody sees or ends another's here, admins neither."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field

from penstock.engine import accounts
from penstock.service.actor import SignedIn, Viewer
from penstock.service.ground import ground_of
from penstock.service.parameters import COUNTED, After, PageSize
from penstock.service.problems import documented
from penstock.service.wire import MOST_ID, Wire

router = APIRouter(prefix="/api/me/tokens", tags=["me"], responses=documented())

TokenId = Annotated[int, Path(alias="tokenId", ge=1, le=MOST_ID)]
TokenName = Annotated[
    str, Field(min_length=1, max_length=accounts.LONGEST_TOKEN_NAME, pattern=accounts.TOKEN_NAME_PATTERN)
]
Days = Annotated[int, Field(ge=1, le=accounts.MOST_TOKEN_DAYS, description="Left out: until it is revoked."), COUNTED]


class TokenRequest(Wire):
    name: TokenName = Field("token", description="What it is for.")
    expires_days: Days | None = None


class CreatedToken(Wire):
    token_id: int
    token: str = Field(description="Shown now and never again; only its hash is kept.")
    hint: str
    expires_at: datetime | None


class TokenView(Wire):
    token_id: int
    name: str
    hint: str = Field(description="Its first characters.")
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class TokenPage(Wire):
    items: list[TokenView]
    next_cursor: str | None


@router.get("", operation_id="listMyTokens")
async def list_my_tokens(
    request: Request,
    actor: Viewer,
    page_size: PageSize = 50,
    after: After = None,
) -> TokenPage:
    """Newest first, revoked and expired ones too."""
    ground = ground_of(request)
    query = ("me.tokens",)
    place: dict[str, Any] = {}
    if after is not None:
        [place["before_id"]] = ground.cursors.take(actor.name, query, after)
    found = await accounts.list_tokens(ground.app, user_name=actor.name, limit=page_size + 1, **place)
    shown = found[:page_size]
    following = ground.cursors.give(actor.name, query, [shown[-1].id]) if len(found) > page_size else None
    items = [
        TokenView(
            token_id=one.id,
            name=one.name,
            hint=one.hint,
            created_at=one.created_at,
            expires_at=one.expires_at,
            revoked_at=one.revoked_at,
            last_used_at=one.last_used_at,
        )
        for one in shown
    ]
    return TokenPage(items=items, next_cursor=following)


@router.post("", operation_id="createMyToken", status_code=201)
async def create_my_token(request: Request, actor: SignedIn, wanted: TokenRequest) -> CreatedToken:
    """It may do what you may, until it is revoked or expires. Needs a session: a token makes no other."""
    made = await accounts.create_token(
        ground_of(request).app, actor.name, name=wanted.name, expires_days=wanted.expires_days, by=actor.by
    )
    return CreatedToken(token_id=made.id, token=made.secret, hint=made.hint, expires_at=made.expires_at)


@router.delete("/{tokenId}", operation_id="revokeMyToken", status_code=204)
async def revoke_my_token(request: Request, actor: Viewer, token_id: TokenId) -> None:
    """It does not count any more from the next request on."""
    await accounts.revoke_token(ground_of(request).app, token_id, user_name=actor.name, by=actor.by)
