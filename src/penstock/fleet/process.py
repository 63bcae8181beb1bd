"""The main of a runner process: import the application, serve until told to stop.

Forked by the nursery of its supervisor, which hands it its orders.
"""

import asyncio
import errno
import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import uvloop

from penstock.config import Settings, load
from penstock.core.loading import load_app
from penstock.core.stage import served_stages
from penstock.errors import PenstockError
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.fleet.channel import Channel, die_with, leave_signals_to_the_parent
from penstock.observe.changes import Changes
from penstock.observe.counter import Timings
from penstock.observe.observers import observers
from penstock.storage import workers
from penstock.storage.database import passing
from penstock.workers.runner import Runner
from penstock.workers.slots import Slots

_GC_ALLOCATIONS = 20_000
_STATUS_SECONDS = 1.0
SETUP_EXIT = 78  # it could not even start: a wrong reference, a missing schema
MEMORY_EXIT = 71  # no memory left for its own work: what runs in it took that, and has crashed it
BUG_EXIT = 70  # one of its own loops failed
LAPSED_EXIT = 75  # its lease ran out, or the database is away: worth another start


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """What all runners of a supervisor have in common."""

    app: str
    url: str
    only: Sequence[str]
    settings: dict[str, Any]
    extensions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders(Blueprint):
    """What the supervisor tells one runner at the start. ``supervisor_pid`` is the process it must not outlive."""

    worker: int
    slots: str
    slot_count: int
    channel: int
    supervisor_pid: int


async def _serve(orders: Orders, slots: Slots) -> None:
    asyncio.get_running_loop().set_exception_handler(_in_callback)
    settings: Settings = load(**orders.settings, database_url=orders.url)
    channel = await Channel.over(socket.socket(fileno=orders.channel))
    counter, subscribers = observers(settings)
    app = load_app(orders.app, orders.extensions)
    changes = Changes(app.connection)
    events = Events((*subscribers, changes.on_event))
    app.use(settings, events)
    await app.open()
    stages = served_stages(app.pipelines.values(), app.stage_ids, settings, orders.only)
    labels = {stage.id: stage.label for stage in stages}
    counter.know(labels)
    changes.know(labels)
    runner = Runner(
        settings=settings,
        url=orders.url,
        worker=orders.worker,
        stages=stages,
        slots=slots,
        events=events,
        failpoints=Failpoints.from_environment(),
        app_reference=orders.app,
        extensions=orders.extensions,
        # Whoever sends the heartbeats is frozen, or we were: somebody else may have our tasks by now.
        lapsed=lambda: _lapse(slots),
    )
    async with app.connection() as connection:
        await workers.set_stages(connection, orders.worker, [stage.id for stage in stages])
    await runner.start()
    # Modules live as long as the process, and a claim brings thousands of objects that no cycle holds: looking through
    # all of them every 700 allocations costs a tenth of a runner's time.
    gc.freeze()
    gc.set_threshold(_GC_ALLOCATIONS, 20, 20)
    channel.send(ready=True, stages=[stage.label for stage in stages])

    timings = Timings(runner.paces)

    async def report() -> None:
        while True:
            channel.send(status=runner.status(), metrics=counter.take() + timings.take())
            await asyncio.sleep(_STATUS_SECONDS)

    async def obey() -> float:
        """Returns the grace when told to stop; a vanished supervisor ends the process at once."""
        async for message in channel.messages():
            runner.cancel(dict(message.get("cancel", ())))
            runner.handing_back.withdrawn(dict(message.get("wait", ())))
            if "stop" in message:
                return float(message["stop"])
        os._exit(1)

    reporting = asyncio.create_task(report())
    obeying = asyncio.create_task(obey())
    failing = asyncio.create_task(runner.failed())
    telling = asyncio.create_task(changes.run())
    await asyncio.wait({reporting, obeying, failing, telling}, return_when=asyncio.FIRST_COMPLETED)
    for side in (reporting, obeying, failing, telling):
        if side.done() and (error := side.exception()) is not None:
            _end_if_starved(error)
            # A bug in the runner itself. Unwinding would wait for handlers; the supervisor gives back what is held.
            traceback.print_exception(error)
            sys.stderr.flush()
            os._exit(BUG_EXIT)
    await runner.stop(obeying.result())
    reporting.cancel()
    failing.cancel()
    telling.cancel()
    await changes.run_once()
    channel.send(status=runner.status(), metrics=counter.take() + timings.take())
    await app.close()
    channel.close()


def _end_if_starved(error: BaseException | None) -> None:
    """No memory for our own work: what runs here took it. Going on would leave connections that never answer."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        os._exit(MEMORY_EXIT)


def _in_callback(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An error that nobody awaits. A transport that had one stays without a reader for ever: the end of memory shows
    here. One of a task that a handler started and forgot is the handler's own."""
    if "future" not in context and "task" not in context:
        _end_if_starved(context.get("exception"))
    loop.default_exception_handler(context)


def _lapse(slots: Slots) -> NoReturn:
    slots.lapse()
    os._exit(LAPSED_EXIT)


def _exit_after(error: BaseException, slots: Slots) -> NoReturn:
    _end_if_starved(error)
    known = isinstance(error, PenstockError) or passing(error)
    sys.stderr.write(f"penstock runner: {error}\n" if known else "".join(traceback.format_exception(error)))
    sys.stdout.flush()
    sys.stderr.flush()
    if passing(error):
        _lapse(slots)
    os._exit(SETUP_EXIT if known else 1)


def run(orders: Orders) -> NoReturn:
    """The whole life of a runner; never returns."""
    die_with(orders.supervisor_pid)
    leave_signals_to_the_parent()
    # What a handler forks without a new program ends with SIGTERM again.
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
    slots = Slots(Path(orders.slots), orders.slot_count)
    # Both sides have it mapped: without a name it cannot be left behind, whoever is killed.
    slots.path.unlink(missing_ok=True)
    try:
        uvloop.run(_serve(orders, slots))
    except BaseException as error:
        # Always by os._exit: a thread that the user's module started would keep an interpreter that ends politely.
        _exit_after(error, slots)
    # Threads of handlers that did not stop must not keep the process alive.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
