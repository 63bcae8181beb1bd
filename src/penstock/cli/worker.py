"""`penstock worker`"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.terminal.command import command
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.cli.serving import Up


class Profile(StrEnum):
    event = "event"
    paced = "paced"


RunnersOption = Annotated[
    int | None, typer.Option("--runners", min=1, max=64, help="Runner processes; also PENSTOCK_RUNNERS.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="PIPELINE[/STAGE]", help="Serve only this; may be given several times."),
]
ProfileOption = Annotated[
    Profile | None, typer.Option("--profile", help="event: claim at once. paced: gentle polling.")
]
PortOption = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Also serve /healthz, /readyz and /metrics there; 0: a free port."),
]


def register(app: typer.Typer) -> None:
    @command(app)
    async def worker(
        session: Session,
        runners: RunnersOption = None,
        only: OnlyOption = None,
        profile: ProfileOption = None,
        port: PortOption = None,
    ) -> int:
        """Run a worker in the foreground: a supervisor and its runner processes.

        SIGTERM or Ctrl-C stops it: running tasks get PENSTOCK_GRACE_SECONDS, what is not done by then is handed back
        and burns no attempt. A second Ctrl-C ends it at once. Without a database URL it uses the embedded server.
        """
        from penstock.cli.serving import Plan, serve
        from penstock.errors import UsageError

        settings = session.options.load(runners=runners, profile=profile and profile.value, port=port)
        if settings.app is None:
            raise UsageError("No application was named. Pass --app module:name, or set PENSTOCK_APP.")
        plan = Plan(settings=settings, app=settings.app, only=tuple(only or ()), port=port)

        def announce(up: "Up") -> None:
            data = {"database": up.place.shown, "app": plan.app, "runners": settings.runners, "http": up.address}
            if session.out.json:
                session.out.emit(data)
            http = f"; {up.address}/metrics" if up.address else ""
            session.out.say(f"Working for {plan.app} on {up.place.shown}{http}. Ctrl-C stops it.")

        return await serve(session, plan, announce)
