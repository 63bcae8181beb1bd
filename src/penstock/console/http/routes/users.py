"""`/api/users`: who may use the service, for admins."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field

from penstock.console.http.actor import Admin, Role, SignedIn, session_of
from penstock.console.http.ground import Here, ground_of
from penstock.console.http.parameters import After, Flag, PageSize
from penstock.console.http.problems import documented
from penstock.console.http.wire import Wire
from penstock.console.people import accounts, passwords
from penstock.console.people.accounts import LINK_SECONDS

router = APIRouter(prefix="/api/users", tags=["users"], responses=documented())

UserName = Annotated[str, Path(alias="userName", pattern=accounts.NAME_PATTERN)]


class UserRequest(Wire):
    name: str = Field(
        pattern=accounts.NAME_PATTERN, description="Never changed, never given to somebody else: work belongs to it."
    )
    role: Role = Role.operator


class UserChange(Wire):
    """What is left out stays."""

    role: Role | None = None
    disabled: Flag | None = Field(None, description="True ends every session and refuses every token at once.")


class UserView(Wire):
    name: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None
    password_changed_at: datetime | None = Field(description="Null: gets in by a login link only.")


class UserPage(Wire):
    items: list[UserView]
    next_cursor: str | None


class LoginLink(Wire):
    path: str = Field(description="Behind the address of this service. Works once; shown now and never again.")
    lasts_seconds: int


@router.get("", operation_id="listUsers")
async def list_users(ground: Here, actor: Admin, page_size: PageSize = 50, after: After = None) -> UserPage:
    """Everybody, by name, disabled users too."""
    names = ground.listing(actor.name, "users")
    found = await accounts.list_users(ground.app, after=names.behind(after, first=""), limit=page_size + 1)
    shown, following = names.page(found, page_size, lambda user: user.name)
    return UserPage(items=[UserView.from_record(one) for one in shown], next_cursor=following)


@router.post("", operation_id="createUser", status_code=201)
async def create_user(ground: Here, actor: Admin, wanted: UserRequest) -> UserView:
    """They get in by a login link."""
    return UserView.from_record(await accounts.create_user(ground.app, wanted.name, wanted.role, by=actor.by))


@router.patch("/{userName}", operation_id="changeUser")
async def change_user(ground: Here, actor: Admin, user_name: UserName, wanted: UserChange) -> UserView:
    """Another role, or disabled, or enabled again. Takes effect with the user's next request."""
    changed = await accounts.change_user(ground.app, user_name, role=wanted.role, disabled=wanted.disabled, by=actor.by)
    return UserView.from_record(changed)


@router.post("/{userName}/login-link", operation_id="createLoginLink", status_code=201)
async def create_login_link(ground: Here, actor: Admin, signed_in: SignedIn, user_name: UserName) -> LoginLink:
    """A link that logs this user in once, to hand over. Audited. Needs a session: a token makes none."""
    code = await accounts.login_code(ground.app, user_name, by=actor.by)
    return LoginLink(path=accounts.login_path(code), lasts_seconds=int(LINK_SECONDS))


@router.delete("/{userName}/password", operation_id="removePassword")
async def remove_password(request: Request, actor: Admin, user_name: UserName) -> UserView:
    """They get in by a login link only, until they set another one. Their sessions end, but not the one that asks."""
    return UserView.from_record(
        await passwords.remove(ground_of(request).app, user_name, session=session_of(request), by=actor.by)
    )
