"""What `penstock worker` and `penstock up` share: run a fleet in the foreground until a signal says stop."""

import asyncio
import errno
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from penstock.cli import app_check, database
from penstock.cli.errors import INTERRUPTED, OK, Refused
from penstock.cli.session import Session
from penstock.config import Settings
from penstock.engine.fleet import Fleet
from penstock.failpoints import Failpoints
from penstock.service.health import Endpoint

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to serve. ``port`` None: no HTTP endpoint. ``may_migrate``: also a database that is not ours."""

    settings: Settings
    app: str
    app_is_the_users: bool = True
    only: tuple[str, ...] = ()
    port: int | None = None
    may_migrate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """Where everything is, once it is ready."""

    place: database.Place
    address: str | None
    plan: Plan


class StopSignals:
    """The first asks politely, the second ends it. Installed before anything is started, so none is missed."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.times = 0
        self._fleet: Fleet | None = None

    def install(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            # A signal that whoever started us ignores (nohup) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._heard)

    def lead_to(self, fleet: Fleet) -> None:
        self._fleet = fleet
        if self.times:
            fleet.stop()

    def _heard(self) -> None:
        self.times += 1
        if self.times == 1:
            self._tell("Stopping: running tasks get their grace; once more ends them now.")
            if self._fleet is not None:
                self._fleet.stop()
        elif self._fleet is not None:
            self._fleet.kill()


async def serve(session: Session, plan: Plan, announce: Callable[[Up], None]) -> int:
    """Until stopped; ``announce`` is called once, when work is being done. Returns the exit code.

    What can be known to be wrong is found before anything is started.
    """
    session.warn_of_unknown_variables()
    Failpoints.from_environment()
    if plan.app_is_the_users:
        await app_check.check(plan.app, plan.only)
    stop = StopSignals(session.out.say)
    stop.install()
    async with database.opened(plan.settings) as place:
        await database.prepare(plan.settings, place, may_migrate=plan.may_migrate, tell=session.out.say)
        if not stop.times:
            fleet = Fleet(settings=plan.settings, url=place.url, app=plan.app, only=plan.only, server=place.server)
            async with _endpoint(plan, fleet) as address:
                stop.lead_to(fleet)
                await _run(fleet, lambda: announce(Up(place=place, address=address, plan=plan)))
    return INTERRUPTED if stop.times > 1 else OK


async def _run(fleet: Fleet, announce: Callable[[], None]) -> None:
    async def when_ready() -> None:
        while not fleet.supervisor.ready:
            await asyncio.sleep(0.05)
        announce()

    waiting = asyncio.create_task(when_ready())
    try:
        await fleet.run()
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@asynccontextmanager
async def _endpoint(plan: Plan, fleet: Fleet) -> AsyncIterator[str | None]:
    if plan.port is None:
        yield None
        return
    endpoint = Endpoint(watched=fleet, metrics=fleet.exposition.render)
    try:
        address = await endpoint.start(plan.settings.host, plan.port)
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        cause = "another program, perhaps another `penstock up`, uses the port" if in_use else error.strerror
        raise Refused(
            f"The HTTP endpoint cannot listen on {plan.settings.host}:{plan.port}: {cause}. "
            "Choose a port with --port or PENSTOCK_PORT; 0 takes a free one."
        ) from None
    try:
        yield address
    finally:
        await endpoint.close()
