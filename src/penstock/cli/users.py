"""`penstock users`: who may use the service."""

import asyncio
import sys
from dataclasses import asdict
from typing import Annotated
from urllib.parse import urlsplit

import typer

from penstock.config import Settings
from penstock.console.people import accounts, passwords
from penstock.console.people.accounts import LINK_SECONDS
from penstock.console.people.passwords import PasswordHashes
from penstock.control.acting import By, Role
from penstock.errors import UsageError
from penstock.terminal.command import command
from penstock.terminal.output import Column, shown
from penstock.terminal.pages import LimitOption, show_page
from penstock.terminal.session import Session

Name = Annotated[str, typer.Argument(metavar="NAME")]
RoleOption = Annotated[Role, typer.Option("--role", help="viewer reads, operator also works, admin also administers.")]
RoleArgument = Annotated[Role, typer.Argument(metavar="ROLE", help="viewer, operator or admin.")]
AfterOption = Annotated[str, typer.Option("--after", metavar="NAME", help="Where the page before ended, as it said.")]
AddressOption = Annotated[
    str | None, typer.Option("--address", metavar="URL", help="Of the service, as that person's browser reaches it.")
]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Take it away: a login link lets them in.")]

EMPTY = "No users yet. `penstock users create NAME` makes one; `penstock up` makes the first admin by itself."
_ANSWER_SECONDS = 1.0
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def register(app: typer.Typer) -> None:
    @command(app)
    async def create(session: Session, name: Name, role: RoleOption = Role.operator) -> None:
        """Make a user. A name is for ever: work belongs to it."""
        made = await accounts.create_user(await session.app(), name, role, by=By.command_line())
        session.out.show(asdict(made), f"User {name} is {role}. `penstock users login {name}` prints a login link.")

    @command(app, "list")
    async def listing(session: Session, limit: LimitOption = 200, after: AfterOption = "") -> None:
        """Everybody, by name."""
        found = await accounts.list_users(await session.app(), after=after, limit=limit + 1)
        following = found[limit - 1].name if len(found) > limit else None
        show_page(session, [asdict(one) for one in found[:limit]], following, COLUMNS, empty=EMPTY)

    @command(app)
    async def disable(session: Session, name: Name) -> None:
        """Out at once: sessions end and tokens are refused. Their work goes on."""
        user = await accounts.change_user(await session.app(), name, disabled=True, by=By.command_line())
        session.out.show(asdict(user), f"User {name} is disabled. `penstock users enable {name}` undoes it.")

    @command(app)
    async def enable(session: Session, name: Name) -> None:
        """Let a disabled user in again. Tokens count again, old sessions do not."""
        user = await accounts.change_user(await session.app(), name, disabled=False, by=By.command_line())
        session.out.show(asdict(user), f"User {name} is enabled.")

    @command(app)
    async def role(session: Session, name: Name, role: RoleArgument) -> None:
        """Change what a user may do, from their next request on."""
        user = await accounts.change_user(await session.app(), name, role=role, by=By.command_line())
        session.out.show(asdict(user), f"User {name} is {role} now.")

    @command(app)
    async def login(session: Session, name: Name, address: AddressOption = None) -> None:
        """Print a link that logs a user in: once, within 15 minutes."""
        where = (address or address_of(session.settings)).rstrip("/")
        code = await accounts.login_code(await session.app(), name, by=By.command_line())
        url = where + accounts.login_path(code)
        session.out.show({"user": name, "url": url, "code": code, "lasts_seconds": int(LINK_SECONDS)}, url)
        if not session.out.json:
            session.out.say("The link works once, within 15 minutes. Whoever has it is let in, so pass it on safely.")
        if address is None and not await _listens(where):
            session.out.warn(
                f"{where} is a guess from the settings, and nothing listens there now. Where the service has another "
                "address, name it with --address URL, or set PENSTOCK_PORT as for the service."
            )

    @command(app)
    async def password(session: Session, name: Name, remove: RemoveOption = False) -> None:
        """Set a user's password, which is asked for and never an argument; or remove it. Their sessions end."""
        application = await session.app()
        await accounts.require_user(application, name)
        if remove:
            user = await passwords.remove(application, name, by=By.command_line())
            session.out.show(asdict(user), f"User {name} has no password. `penstock users login {name}` lets them in.")
            return
        user = await passwords.put(application, PasswordHashes(), name, _asked(name), by=By.command_line())
        session.out.show(asdict(user), f"User {name} has a new password. Their sessions have ended.")


def _asked(name: str) -> str:
    """Twice on a terminal; else the first line of what is piped in."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    answer: str = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt="Once more", err=True)
    return answer


async def _listens(address: str) -> bool:
    place = urlsplit(address)
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            _, writer = await asyncio.open_connection(place.hostname, place.port)
    except OSError:
        return False
    writer.close()
    return True


def address_of(settings: Settings) -> str:
    """Where a browser on this machine finds the service."""
    if settings.port == 0:
        raise UsageError("The service takes any free port (PENSTOCK_PORT=0). Name its address with --address URL.")
    host = _ANYWHERE.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


COLUMNS = (
    Column(key="name", title="user"),
    Column(key="role", title="role"),
    Column(key="created_at", title="since"),
    Column(
        key="disabled_at",
        title="state",
        show=lambda value: "enabled" if value is None else f"disabled since {shown(value)}",
    ),
    Column(key="password_changed_at", title="password", show=lambda value: "none" if value is None else "set"),
)
