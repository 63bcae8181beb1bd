"""``python -m penstock.testing.worker_main MODULE:APP``: a supervisor with its runners, as a process tests may kill.

The same parts as `penstock worker`, without its command line; settings come from the environment.
"""

import asyncio
import signal
import sys

import uvloop

from penstock.config import load
from penstock.errors import UsageError
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.fleet.process import Blueprint
from penstock.fleet.supervisor import Supervisor
from penstock.observe.observers import observers
from penstock.upkeep.duties import all_duties


async def serve(app: str) -> None:
    settings = load()
    if settings.url is None:
        raise UsageError("PENSTOCK_DATABASE_URL is not set. Give the worker of a test the database of that test.")
    events = Events(observers(settings)[1])
    # Failpoints are for the runners; a supervisor that misbehaves is a fault of its own, set by another variable.
    failpoints = Failpoints.from_environment()
    supervisor = Supervisor(
        settings=settings,
        blueprint=Blueprint(app=app, url=settings.url, only=(), settings=settings.handed_on()),
        events=events,
        failpoints=failpoints,
        duties=all_duties(settings, events, failpoints),
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.stop)
    await supervisor.run()


def main() -> None:
    uvloop.run(serve(sys.argv[1]))


if __name__ == "__main__":
    main()
