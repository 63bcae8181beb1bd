"""What `penstock worker` and `penstock up` share: run a fleet in the foreground until a signal says stop."""

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from pydantic import SecretStr

from penstock.application import Penstock
from penstock.cli import app_check
from penstock.cli.service_process import ServiceProcess
from penstock.config import Settings
from penstock.console.http.health import Endpoint
from penstock.console.http.listening import address_of, bind
from penstock.console.people import accounts
from penstock.control import schema
from penstock.errors import DatabaseError, NotKnown, UsageError
from penstock.extension import discovered
from penstock.failpoints import Failpoints
from penstock.fleet.fleet import Fleet
from penstock.terminal.errors import INTERRUPTED, OK, Refused
from penstock.terminal.served import carried
from penstock.terminal.session import Session

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to serve. ``port`` None: no HTTP endpoint; ``service``: the whole HTTP service there, in a process of its
    own. ``may_migrate``: also a database that is not ours."""

    settings: Settings
    app: str
    app_is_the_users: bool = True
    only: tuple[str, ...] = ()
    port: int | None = None
    service: bool = False
    may_migrate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """Where everything is, once it is ready. ``login``: a link that lets the admin in, once."""

    place: schema.Place
    address: str | None
    plan: Plan
    login: str | None = None


class Stoppable(Protocol):
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class StopSignals:
    """The first asks politely, the second ends it. Installed before anything is started, so none is missed."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.times = 0
        self._parts: tuple[Stoppable, ...] = ()

    def install(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            # A signal that whoever started us ignores (nohup) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._heard)

    def lead_to(self, *parts: Stoppable) -> None:
        self._parts = parts
        if self.times:
            for part in parts:
                part.stop()

    def _heard(self) -> None:
        self.times += 1
        if self.times == 1:
            self._tell("Stopping: what runs gets its grace; once more ends it now.")
        for part in self._parts:
            part.stop() if self.times == 1 else part.kill()


async def serve(session: Session, plan: Plan, announce: Callable[[Up], None]) -> int:
    """Until stopped; ``announce`` is called once, when work is being done. Returns the exit code.

    What can be known to be wrong is found before anything is started.
    """
    Failpoints.from_environment()
    if plan.app_is_the_users:
        try:
            brought = await app_check.check(plan.app, plan.only)
        except UsageError:
            session.warn_of_unknown_variables()
            raise
    else:
        brought = schema.Brought.of(discovered())
    session.warn_of_unknown_variables(brought.settings)
    stop = StopSignals(session.out.say)
    stop.install()
    with listening_for(plan) if plan.service else nullcontext() as listening:
        async with schema.opened(plan.settings) as place:
            further, tell = brought.migrations, session.out.say
            await schema.prepare(plan.settings, place, further, may_migrate=plan.may_migrate, tell=tell)
            if not stop.times:
                await _serve_on(session, plan, place, listening, stop, announce)
    return INTERRUPTED if stop.times > 1 else OK


async def _serve_on(
    session: Session,
    plan: Plan,
    place: schema.Place,
    listening: socket.socket | None,
    stop: StopSignals,
    announce: Callable[[Up], None],
) -> None:
    fleet = Fleet(
        settings=plan.settings,
        url=place.url,
        app=plan.app,
        only=plan.only,
        server=place.server,
        extensions=carried(),
    )
    if listening is None:
        async with _endpoint(plan, fleet) as address:
            stop.lead_to(fleet)
            await _run(fleet, None, lambda: announce(Up(place=place, address=address, plan=plan)))
        return
    service = ServiceProcess(
        settings=plan.settings,
        url=place.url,
        app=plan.app,
        extensions=carried(),
        listening=listening,
        metrics=fleet.exposition.render,
        counted=fleet.exposition.counted,
        tell=session.out.warn,
    )
    address = address_of(listening)
    login = await _login(plan, place, address)
    stop.lead_to(fleet, service)
    await _run(fleet, service, lambda: announce(Up(place=place, address=address, plan=plan, login=login)))


async def _run(fleet: Fleet, service: ServiceProcess | None, announce: Callable[[], None]) -> None:
    """Until the fleet has stopped; the service never ends by itself, and not before the fleet."""

    async def when_ready() -> None:
        if service is not None:
            await service.ready.wait()
        while not fleet.supervisor.ready:
            await asyncio.sleep(0.05)
        announce()

    waiting = asyncio.create_task(when_ready())
    serving = asyncio.create_task(service.run()) if service is not None else None
    try:
        await fleet.run()
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        if service is not None and serving is not None:
            service.stop()
            await serving


async def _login(plan: Plan, place: schema.Place, address: str) -> str | None:
    """A fresh one-time link for the admin, who is made when nobody is there yet. None where the installation has
    admins of its own: `penstock users login` makes links for them."""
    settings = plan.settings.model_copy(update={"database_url": SecretStr(place.url)})
    try:
        async with Penstock("up", settings=settings) as app:
            code = await accounts.first_admin(app) or await accounts.login_code(app, accounts.FIRST_ADMIN)
    except (NotKnown, UsageError, DatabaseError):
        return None
    return address + accounts.login_path(code)


@contextmanager
def listening_for(plan: Plan) -> Iterator[socket.socket]:
    """Bound before anything is started: who is refused the port has nothing to clean up."""
    assert plan.port is not None
    try:
        listening = bind(plan.settings.host, plan.port)
    except OSError as error:
        raise _refused(plan, error) from None
    with listening:
        yield listening


@asynccontextmanager
async def _endpoint(plan: Plan, fleet: Fleet) -> AsyncIterator[str | None]:
    if plan.port is None:
        yield None
        return
    endpoint = Endpoint(watched=fleet, metrics=fleet.exposition.render)
    try:
        address = await endpoint.start(plan.settings.host, plan.port)
    except OSError as error:
        raise _refused(plan, error) from None
    try:
        yield address
    finally:
        await endpoint.close()


def _refused(plan: Plan, error: OSError) -> Refused:
    in_use = error.errno == errno.EADDRINUSE
    cause = "another program, perhaps another `penstock up`, uses the port" if in_use else error.strerror
    return Refused(
        f"The HTTP endpoint cannot listen on {plan.settings.host}:{plan.port}: {cause}. "
        "Choose a port with --port or PENSTOCK_PORT; 0 takes a free one."
    )
