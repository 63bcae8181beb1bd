"""`penstock up`"""

from dataclasses import replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.worker import OnlyOption, ProfileOption, RunnersOption
from penstock.terminal.command import command
from penstock.terminal.served import BESIDE_IT, BUILT_IN
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.cli.serving import Up

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
        """Start everything on this machine: database, schema, workers and the HTTP service.

        Without a database URL it starts the embedded server; without an application it runs those that ship with
        Penstock. The link it prints logs you in as admin, once. Ctrl-C stops all of it and leaves no process behind.
        """
        from penstock.cli.serving import Plan, serve

        settings = session.options.load(runners=runners, profile=profile and profile.value, port=port)
        plan = Plan(
            settings=settings,
            app=settings.app or BUILT_IN,
            app_is_the_users=settings.app is not None,
            only=tuple(only or ()),
            port=settings.port,
            service=True,
            may_migrate=True,
        )
        if plan.app != BUILT_IN:
            return await serve(session, plan, lambda ready: _announce(session, ready))
        async with resolve_name(BESIDE_IT)(settings) as settings:
            return await serve(session, replace(plan, settings=settings), lambda ready: _announce(session, ready))


def _announce(session: Session, up: "Up") -> None:
    from penstock.version import VERSION

    plan = up.plan
    runners = plan.settings.runners
    if session.out.json:
        session.out.emit(
            {
                "version": VERSION,
                "http": up.address,
                "login": up.login,
                "database": up.place.shown,
                "app": plan.app,
                "runners": runners,
            }
        )
    built_in = " (what ships with Penstock; name yours with --app module:name)" if plan.app == BUILT_IN else ""
    first = "`penstock demo` fills it with a small world to look at, " if plan.app == BUILT_IN else ""
    login = f"{up.login}  (once, within 15 minutes)" if up.login else "`penstock users login NAME` prints a link"
    session.out.say(
        f"\nPenstock {VERSION} is up.\n"
        f"  HTTP         {up.address}  (/api, /healthz, /readyz, /metrics)\n"
        f"  log in       {login}\n"
        f"  for curl     `penstock tokens create admin` prints a token: curl -H 'Authorization: Bearer TOKEN'"
        f" {up.address}/api/me\n"
        f"  database     {up.place.shown}\n"
        f"  application  {plan.app}{built_in}\n"
        f"  runners      {runners}\n\n"
        f"Next, in another terminal: {first}`penstock status` shows what happens. Ctrl-C here stops everything.\n"
    )
