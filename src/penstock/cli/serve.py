"""`penstock serve`"""

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.terminal.command import command
from penstock.terminal.session import Session

if TYPE_CHECKING:
    import socket

    from penstock.cli.serving import Plan

HostOption = Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="To listen on; also PENSTOCK_HOST.")]
PortOption = Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Also PENSTOCK_PORT; 0: a free port.")]


def register(app: typer.Typer) -> None:
    @command(app)
    def serve(session: Session, host: HostOption = None, port: PortOption = None) -> int:
        """Run the HTTP service in the foreground, without workers: one process, for a machine of its own.

        Needs a migrated database; without a database URL it uses the embedded server. Stages and schedules are
        registered by the workers that run them. SIGTERM or Ctrl-C stops it: streams end, running requests get
        PENSTOCK_GRACE_SECONDS. A second Ctrl-C ends it at once.
        """
        import uvloop

        from penstock.cli.serving import Plan, listening_for
        from penstock.terminal.served import BUILT_IN

        settings = session.options.load(host=host, port=port)
        plan = Plan(settings=settings, app=settings.app or BUILT_IN, port=settings.port, service=True)
        with listening_for(plan) as listening:
            return uvloop.run(_serve(session, plan, listening))


async def _serve(session: Session, plan: "Plan", listening: "socket.socket") -> int:
    from pydantic import SecretStr

    from penstock.application import Penstock
    from penstock.cli.serving import StopSignals
    from penstock.console.http.app import create
    from penstock.console.http.listening import address_of
    from penstock.console.http.server import Server, configure_logs, run
    from penstock.console.live.live import Live
    from penstock.control import schema
    from penstock.core.loading import load_app
    from penstock.events import Events
    from penstock.observe.logs import log_subscriber
    from penstock.terminal.errors import INTERRUPTED, OK
    from penstock.terminal.served import carried

    stop = StopSignals(session.out.say)
    stop.install()
    app = load_app(plan.app, carried())
    assert isinstance(app, Penstock)
    brought = schema.Brought.of(app.extensions.values())
    session.warn_of_unknown_variables(brought.settings)
    async with schema.opened(plan.settings) as place:
        await schema.prepare(plan.settings, place, brought.migrations, may_migrate=False, tell=session.out.say)
        if stop.times:
            return INTERRUPTED if stop.times > 1 else OK
        settings = plan.settings.model_copy(update={"database_url": SecretStr(place.url)})
        configure_logs(settings)
        live = Live(app, database_gone=place.keep_running)
        app.use(settings, Events([log_subscriber(settings, live.metrics.counter.labels)]), registers=False)
        api = create(app, live=live)
        server = Server(api, settings)
        stop.lead_to(server)
        address = address_of(listening)

        def announce() -> None:
            if session.out.json:
                session.out.emit({"http": address, "database": place.shown, "app": plan.app})
            session.out.say(
                f"Serving {plan.app} on {address}, from {place.shown}. "
                "`penstock users login NAME` prints a login link; Ctrl-C stops it."
            )

        await run(api, server, listening, ready=announce)
    return INTERRUPTED if stop.times > 1 else OK
