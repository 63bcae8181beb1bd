"""`/api/me`: who am I, and one's own tokens, password and sessions. Nobody, no admin either, sees or ends another's."""

import math
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field, StringConstraints

from penstock.console.http.actor import Role, SignedIn, Viewer, session_of
from penstock.console.http.ground import Here, ground_of
from penstock.console.http.parameters import COUNTED, After, PageSize
from penstock.console.http.problems import Problem, documented
from penstock.console.http.routes.settings import Flags
from penstock.console.http.wire import MOST_ID, Wire
from penstock.console.live.live import live_of
from penstock.console.people import accounts, passwords
from penstock.console.people.passwords import LONGEST, SHORTEST
from penstock.console.storage import users
from penstock.control import preferences

router = APIRouter(prefix="/api/me", tags=["me"], responses=documented())


class Screen(Wire):
    path: str
    name: str


class Me(Wire):
    name: str
    role: Role
    password_changed_at: datetime | None = Field(description="Null: there is no password.")
    flags: Flags
    screens: list[Screen] = Field(description="Of the extensions that this application has installed.")
    last_event_id: str = Field(
        description="The newest event of `/api/stream`. A stream that begins with it reports every later change."
    )


@router.get("", operation_id="me")
async def me(request: Request, actor: Viewer) -> Me:
    """The user that the token or session belongs to, and what is switched on."""
    ground, newest = ground_of(request), live_of(request).hub.newest
    async with ground.app.connection() as connection:
        user = await users.by_name(connection, actor.name)
        flags = await preferences.flags(connection, ground.settings)
    changed = None if user is None else user.password_changed_at
    return Me(
        name=actor.name,
        role=actor.role,
        password_changed_at=changed,
        flags=Flags.model_validate(flags),
        screens=[
            Screen(path=path, name=name)
            for extension in ground.app.extensions.values()
            for path, name in extension.screens.items()
        ],
        last_event_id=newest,
    )


# ---------------------------------------------------------------- tokens

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


@router.get("/tokens", operation_id="listMyTokens")
async def list_my_tokens(ground: Here, actor: Viewer, page_size: PageSize = 50, after: After = None) -> TokenPage:
    """Newest first, revoked and expired ones too."""
    tokens = ground.listing(actor.name, "me.tokens")
    found = await accounts.list_tokens(
        ground.app, user_name=actor.name, before_id=tokens.behind(after, first=MOST_ID), limit=page_size + 1
    )
    shown, following = tokens.page(found, page_size, lambda token: token.id)
    return TokenPage(items=[TokenView.from_record(one, token_id=one.id) for one in shown], next_cursor=following)


@router.post("/tokens", operation_id="createMyToken", status_code=201)
async def create_my_token(ground: Here, actor: SignedIn, wanted: TokenRequest) -> CreatedToken:
    """It may do what you may, until it is revoked or expires. Needs a session: a token makes no other."""
    made = await accounts.create_token(
        ground.app, actor.name, name=wanted.name, expires_days=wanted.expires_days, by=actor.by
    )
    return CreatedToken.from_record(made, token_id=made.id, token=made.secret)


@router.delete("/tokens/{tokenId}", operation_id="revokeMyToken", status_code=204)
async def revoke_my_token(ground: Here, actor: Viewer, token_id: TokenId) -> None:
    """It does not count any more from the next request on."""
    await accounts.revoke_token(ground.app, token_id, user_name=actor.name, by=actor.by)


# ---------------------------------------------------------------- password

Secret = Annotated[str, StringConstraints(max_length=LONGEST)]


class PasswordRequest(Wire):
    current: Secret | None = Field(None, description="Needed where there is one already.")
    new: Secret = Field(min_length=SHORTEST, description="Not your name, and not one that anybody would try first.")


class PasswordView(Wire):
    password_changed_at: datetime | None


@router.put("/password", operation_id="changeMyPassword", responses=documented(429))
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


# ---------------------------------------------------------------- sessions

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
    items: list[SessionView] = Field(description=f"At most {accounts.MOST_SESSIONS}.")


class Ended(Wire):
    ended: int


@router.get("/sessions", operation_id="listMySessions")
async def list_my_sessions(request: Request, actor: Viewer) -> Sessions:
    """Those that count, the last used first."""
    found = await accounts.list_sessions(ground_of(request).app, actor.name, secret=session_of(request))
    return Sessions(items=[SessionView.from_record(one, session_id=one.id, device=device(one.agent)) for one in found])


@router.delete("/sessions", operation_id="endOtherSessions")
async def end_other_sessions(request: Request, actor: Viewer) -> Ended:
    """All but the one that asks; with a token, all."""
    app = ground_of(request).app
    return Ended(ended=await accounts.end_other_sessions(app, secret=session_of(request), by=actor.by))


@router.delete("/sessions/{sessionId}", operation_id="endMySession", status_code=204)
async def end_my_session(ground: Here, actor: Viewer, session_id: SessionId) -> None:
    """That browser is out with its next request."""
    await accounts.end_session(ground.app, session_id, by=actor.by)


# ---------------------------------------------------------------- devices

# Of each list the first that is found: browsers name their ancestors too.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Chromium", "Chromium"),
    ("Safari", "Safari"),
    ("curl", "curl"),
    ("python", "Python"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


def device(agent: str | None) -> str:
    """What a browser calls itself, in a few words that people know: "Firefox on Linux"."""
    browser = _first(_BROWSERS, agent)
    system = _first(_SYSTEMS, agent)
    if browser is None:
        return system or "An unknown browser"
    return browser if system is None else f"{browser} on {system}"


def _first(known: tuple[tuple[str, str], ...], agent: str | None) -> str | None:
    return next((name for sign, name in known if sign.lower() in (agent or "").lower()), None)
