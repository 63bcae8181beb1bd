"""`penstock demo`: a believable small world to look at, filled in and kept moving for a while."""

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.terminal.command import command
from penstock.terminal.errors import Refused
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.application import Penstock

SecondsOption = Annotated[
    float, typer.Option("--seconds", min=0, max=3600, help="How long it is kept moving; 0: only filled in.")
]
SizeOption = Annotated[int, typer.Option("--size", min=100, max=100_000, help="Rows of the catalogue.")]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Take the demonstration away again.")]
_PLACES_SECONDS = 20.0
_USERS = 1000


def register(app: typer.Typer) -> None:
    @command(app)
    async def demo(
        session: Session, seconds: SecondsOption = 180.0, size: SizeOption = 5000, remove: RemoveOption = False
    ) -> int:
        """Fill a fresh instance with a small world and keep it moving. Needs `penstock up` in another terminal.

        A catalogue with rows that fail, 300 articles, 12 websites on this machine, people to be linked, a shop with a
        limit and a paused stage; nothing leaves this machine. Run again, it
        goes on where it was. --remove takes it away.
        """
        from penstock_demo import removal
        from penstock_demo.ground import everything
        from penstock_demo.shop import app as shop

        if remove:
            return await removal.remove(session, shop)
        await _served(session)
        async with everything(session, sample_url=await _places(session)) as opened:
            return await _show(session, opened, seconds, size)


async def _show(session: Session, app: "Penstock", seconds: float, size: int) -> int:
    from penstock_demo.motion import keep_moving
    from penstock_demo.world import World

    world = World(app, owner=await _owner(app), size=size)
    stored = {}
    for name, fill in world.parts():
        session.out.say(f"{name:<10} …")
        stored[name] = await fill()
        session.out.say(f"{name:<10} {stored[name]}")
    if seconds:
        session.out.say("\nOpen the address that `penstock up` printed and look around; this keeps things moving.")
        await keep_moving(session, app, world, seconds)
    session.out.show(stored, _NEXT)
    return 0


_NEXT = (
    "The world is filled in. In the web pages:\n"
    "  Jobs         a catalogue whose failed rows can be mended and exported\n"
    "  Sites        12 websites, their facts, prompts and answers\n"
    "  Linking      people to be reviewed by keyboard\n"
    "  Articles     300 of them, found by words and by meaning\n"
    "  Stages       one is paused, one waits for its limit\n"
    "When you have seen enough: `penstock demo --remove`."
)


async def _owner(app: "Penstock") -> str:
    """The admin that `penstock up` made, who has just opened its link; the demonstration's own user elsewhere."""
    from penstock.console.people import accounts
    from penstock_demo.world import OWNER

    there = await accounts.list_users(app, limit=_USERS)
    return next((one.name for one in there if one.name == accounts.FIRST_ADMIN and one.disabled_at is None), OWNER)


async def _served(session: Session) -> None:
    """Work that nobody would do shows nothing, so nothing is stored: not even the stages."""
    from penstock_demo.removal import serving
    from penstock_demo.showcase import app

    async with session.connection() as connection:
        served = await serving(connection, app.pipelines)
    if set(served) != set(app.pipelines):
        raise Refused(
            "No live worker serves all that ships with Penstock. Start one in another terminal, then run this again.",
            next_command="penstock up",
        )


async def _places(session: Session) -> str:
    """Asked of a worker, who alone knows."""
    from penstock.errors import WaitTimeout

    asked = await (await session.app()).enqueue("sample_places", {})
    try:
        _, found, _ = await asked.wait(_PLACES_SECONDS)
    except WaitTimeout:
        found = None
    if found is None:
        raise Refused(
            "The workers do not serve the places of the demonstration; those of `penstock up` do, where no application "
            "is named.",
            next_command="penstock up",
        )
    return str(found)
