"""`penstock serve`"""

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.command import command
from penstock.cli.session import Session

if TYPE_CHECKING:
    import socket

    from penstock.cli.database import Place
    from penstock.cli.serving import Plan, StopSignals

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

        from penstock.cli.extensions import BUILT_IN
        from penstock.cli.serving import Plan, listening_for

        settings = session.options.load(host=host, port=port)
        plan = Plan(settings=settings, app=settings.app or BUILT_IN, port=settings.port, service=True)
        with listening_for(plan) as listening:
            return uvloop.run(_serve(session, plan, listening))


async def _serve(session: Session, plan: "Plan", listening: "socket.socket") -> int:
    from penstock.cli import database
    from penstock.cli.errors import INTERRUPTED, OK
    from penstock.cli.serving import StopSignals

    session.warn_of_unknown_variables()
    stop = StopSignals(session.out.say)
    stop.install()
    async with database.opened(plan.settings) as place:
        await database.prepare(plan.settings, place, may_migrate=False, tell=session.out.say)
        if not stop.times:
            await _answer(session, plan, place, listening, stop)
    return INTERRUPTED if stop.times > 1 else OK


async def _answer(
    session: Session, plan: "Plan", place: "Place", listening: "socket.socket", stop: "StopSignals"
) -> None:
    from pydantic import SecretStr

    from penstock.cli.extensions import EXTENSIONS
    from penstock.cli.service_main import routers_for
    from penstock.engine.events import Events
    from penstock.engine.observe.logs import log_subscriber
    from penstock.engine.worker.process import load_app
    from penstock.service.app import create
    from penstock.service.listening import address_of
    from penstock.service.live import Live
    from penstock.service.server import Server, configure_logs, run

    settings = plan.settings.model_copy(update={"database_url": SecretStr(place.url)})
    configure_logs(settings)
    app = load_app(plan.app, EXTENSIONS)
    live = Live(app, database_gone=place.keep_running)
    app.use(settings, Events([log_subscriber(settings, live.metrics.counter.labels)]), registers=False)
    api = create(app, further=routers_for(plan.app), live=live)
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
