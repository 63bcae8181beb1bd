"""The main of a runner process: import the application, serve until told to stop.

Started by the supervisor as ``python -m penstock.engine.worker.process``; all it needs comes in one JSON argument.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import uvloop

from penstock.config import Settings, load
from penstock.engine.app import Penstock
from penstock.engine.events import Events
from penstock.engine.observe import observers
from penstock.engine.reference import resolve
from penstock.engine.worker.channel import Channel
from penstock.engine.worker.runner import Runner
from penstock.engine.worker.slots import Slots
from penstock.engine.worker.stages import live_stages
from penstock.errors import PenstockError, UsageError
from penstock.failpoints import Failpoints
from penstock.storage import workers

_PR_SET_PDEATHSIG = 1
_STATUS_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What the supervisor tells its runner at the start."""

    app: str
    url: str
    worker: int
    slots: str
    slot_count: int
    channel: int
    only: list[str]
    settings: dict[str, Any]
    supervisor_pid: int

    def encode(self) -> str:
        return orjson.dumps(asdict(self)).decode()


def _die_with(supervisor_pid: int) -> None:
    """A runner whose supervisor is gone has no heartbeat: the kernel ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor_pid:
        os._exit(1)


def load_app(reference: str) -> Penstock:
    app = resolve(reference)
    if not isinstance(app, Penstock):
        raise UsageError(
            f"{reference} is a {type(app).__name__}, not a Penstock application. Point --app at the object."
        )
    return app


async def _serve(orders: Orders) -> None:
    settings: Settings = load(**orders.settings, database_url=orders.url)
    channel = await Channel.over(socket.socket(fileno=orders.channel))
    counter, subscribers = observers(settings)
    events = Events(subscribers)
    app = load_app(orders.app)
    app.use(settings, events)
    await app.open()
    stages = live_stages(app, settings, orders.only)
    counter.know({stage.id: stage.label for stage in stages})
    runner = Runner(
        settings=settings,
        url=orders.url,
        worker=orders.worker,
        stages=stages,
        slots=Slots(Path(orders.slots), orders.slot_count),
        events=events,
        failpoints=Failpoints.from_environment(),
        app_reference=orders.app,
    )
    async with app.connection() as connection:
        await workers.set_stages(connection, orders.worker, [stage.id for stage in stages])
    await runner.start()
    channel.send(ready=True, stages=[stage.label for stage in stages])

    async def report() -> None:
        while True:
            channel.send(status=runner.status(), metrics=counter.take())
            await asyncio.sleep(_STATUS_SECONDS)

    async def obey() -> float:
        """Returns the grace when told to stop; a vanished supervisor ends the process at once."""
        async for message in channel.messages():
            for task_id, lease in message.get("cancel", ()):
                runner.cancel(task_id, lease)
            if "stop" in message:
                return float(message["stop"])
        os._exit(1)

    reporting = asyncio.create_task(report())
    obeying = asyncio.create_task(obey())
    failing = asyncio.create_task(runner.failed())
    await asyncio.wait({reporting, obeying, failing}, return_when=asyncio.FIRST_COMPLETED)
    for side in (reporting, failing):
        if side.done() and (error := side.exception()) is not None:
            raise error
    await runner.stop(obeying.result())
    reporting.cancel()
    failing.cancel()
    channel.send(status=runner.status(), metrics=counter.take())
    await app.close()
    channel.close()


def main() -> None:
    orders = Orders(**orjson.loads(sys.argv[1]))
    _die_with(orders.supervisor_pid)
    # Ctrl-C and a service manager's SIGTERM reach the whole group; only the supervisor decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        uvloop.run(_serve(orders))
    except PenstockError as error:
        sys.stderr.write(f"penstock runner: {error}\n")
        sys.stderr.flush()
        os._exit(78)
    # Threads of handlers that did not stop must not keep the process alive.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
