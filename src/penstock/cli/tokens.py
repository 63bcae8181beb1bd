"""`penstock tokens`: what programs show to be let in."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.console.people import accounts
from penstock.control.acting import By
from penstock.terminal.command import command
from penstock.terminal.output import Column, shown
from penstock.terminal.pages import LimitOption, show_page
from penstock.terminal.readable import short
from penstock.terminal.session import Session

User = Annotated[str, typer.Argument(metavar="USER", help="As whom it acts.")]
NameOption = Annotated[str, typer.Option("--name", help="What it is for.")]
ExpiresOption = Annotated[
    int | None, typer.Option("--expires-days", min=1, max=3650, help="Left out: until it is revoked.")
]
TokenId = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**63 - 1)]
UserOption = Annotated[str | None, typer.Option("--user", help="Only this user's.")]
AfterOption = Annotated[
    int, typer.Option("--after", metavar="ID", min=1, max=2**63 - 1, help="Where the page before ended, as it said.")
]

EMPTY = "No tokens here. `penstock tokens create USER` makes one."


def register(app: typer.Typer) -> None:
    @command(app)
    async def create(
        session: Session, user: User, name: NameOption = "command line", expires_days: ExpiresOption = None
    ) -> None:
        """Print a new token; it is shown this once, and only its hash is kept."""
        made = await accounts.create_token(
            await session.app(), user, name=name, expires_days=expires_days, by=By.command_line()
        )
        data = {"id": made.id, "user": user, "name": name, "token": made.secret, "expires_at": made.expires_at}
        session.out.show({**data, "hint": made.hint}, made.secret)
        if not session.out.json:
            until = "it is revoked" if made.expires_at is None else shown(made.expires_at)
            session.out.say(
                f"Token {made.id} of {user}, until {until}. It is not shown again. Use it as the header "
                f"`Authorization: Bearer …`; `penstock tokens revoke {made.id}` ends it."
            )

    @command(app, "list")
    async def listing(
        session: Session, user: UserOption = None, limit: LimitOption = 200, after: AfterOption = 2**63 - 1
    ) -> None:
        """Newest first, revoked and expired ones too."""
        found = await accounts.list_tokens(await session.app(), user_name=user, before_id=after, limit=limit + 1)
        following = str(found[limit - 1].id) if len(found) > limit else None
        show_page(session, [_row(asdict(one)) for one in found[:limit]], following, COLUMNS, empty=EMPTY)

    @command(app)
    async def revoke(session: Session, token_id: TokenId) -> None:
        """Refused from the next request on."""
        token = await accounts.revoke_token(await session.app(), token_id, by=By.command_line())
        session.out.show(_row(asdict(token)), f"Token {token_id} ({token.hint}…) of {token.user_name} is revoked.")


def _row(token: dict[str, Any]) -> dict[str, Any]:
    """Called as the options of the commands are."""
    return {"id": token["id"], "user": token["user_name"], **{k: v for k, v in token.items() if k != "user_name"}}


COLUMNS = (
    Column(key="id", title="id", right=True, show=str),
    Column(key="user", title="user"),
    Column(key="name", title="name", show=lambda value: short(value, 40)),
    Column(key="hint", title="begins with", show=lambda value: short(f"{value}…", 12)),
    Column(key="created_at", title="created"),
    Column(key="expires_at", title="expires"),
    Column(key="revoked_at", title="revoked"),
    Column(key="last_used_at", title="last used"),
)
