"""`penstock up`"""

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.command import command
from penstock.cli.session import Session
from penstock.cli.worker import OnlyOption, ProfileOption, RunnersOption

if TYPE_CHECKING:
    from penstock.cli.serving import Up

DEMO = "penstock.cli.demo_app:app"
PortOption = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Of the HTTP endpoint; also PENSTOCK_PORT; 0: a free port."),
]


def register(app: typer.Typer) -> None:
    @command(app)
    async def up(
        session: Session,
        runners: RunnersOption = None,
        only: OnlyOption = None,
        profile: ProfileOption = None,
        port: PortOption = None,
    ) -> int:
        """Start everything on this machine: database, schema, workers and the HTTP endpoint.

        Without a database URL it starts the embedded server; without an application it runs a small demonstration.
        Ctrl-C stops all of it and leaves no process behind.
        """
        from penstock.cli.serving import Plan, serve

        settings = session.options.load(runners=runners, profile=profile and profile.value, port=port)
        plan = Plan(
            settings=settings,
            app=settings.app or DEMO,
            app_is_the_users=settings.app is not None,
            only=tuple(only or ()),
            port=settings.port,
            may_migrate=True,
        )
        return await serve(session, plan, lambda ready: _announce(session, ready))


def _announce(session: Session, up: "Up") -> None:
    from penstock.version import VERSION

    plan = up.plan
    runners = plan.settings.runners
    if session.out.json:
        session.out.emit(
            {"version": VERSION, "http": up.address, "database": up.place.shown, "app": plan.app, "runners": runners}
        )
    demo = " (a demonstration; name yours with --app module:name)" if plan.app == DEMO else ""
    first = "`penstock demo` enqueues some work, " if plan.app == DEMO else ""
    session.out.say(
        f"\nPenstock {VERSION} is up.\n"
        f"  HTTP         {up.address}  (/healthz, /readyz, /metrics)\n"
        f"  database     {up.place.shown}\n"
        f"  application  {plan.app}{demo}\n"
        f"  runners      {runners}\n\n"
        f"Next, in another terminal: {first}`penstock status` shows what happens. Ctrl-C here stops everything.\n"
    )
