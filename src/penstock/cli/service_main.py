"""The main of the service process that `penstock up` keeps; see ``service_process.py``."""

import asyncio
import os
import signal
import socket
import sys
import traceback
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import uvloop

from penstock.application import Penstock
from penstock.config import load
from penstock.console.http.app import create
from penstock.console.http.server import Server, configure_logs, run
from penstock.console.live.live import Live
from penstock.core.loading import load_app
from penstock.errors import PenstockError
from penstock.events import Events
from penstock.fleet.channel import Channel, die_with, leave_signals_to_the_parent
from penstock.observe.logs import log_subscriber


class Supervisor:
    """The other end of the channel: asked for its metrics, and obeyed."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._number = 0
        self._asked: dict[int, asyncio.Future[bytes | None]] = {}

    async def ask(self, metrics: list[list[Any]]) -> bytes | None:
        self._number += 1
        number = self._number
        self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self._channel.send(ask=number, metrics=metrics)
            return await self._asked[number]
        finally:
            del self._asked[number]

    async def obey(self, messages: AsyncIterator[dict[str, Any]], server: Server) -> NoReturn:
        async for message in messages:
            if message.get("stop"):
                server.stop()
            waiting = self._asked.get(message.get("answer", 0))
            if waiting is not None and not waiting.done():
                waiting.set_result(message["text"].encode())
        # Nobody would stop us any more.
        os._exit(1)


async def _serve(channel_number: int) -> None:
    channel = await Channel.over(socket.socket(fileno=channel_number))
    messages = channel.messages()
    orders = (await anext(messages))["orders"]
    settings = load(**orders["settings"], database_url=orders["url"])
    configure_logs(settings)
    app = load_app(orders["app"], orders["extensions"])
    assert isinstance(app, Penstock)
    supervisor = Supervisor(channel)
    live = Live(app, supervisor=supervisor.ask)
    labels = live.metrics.counter.labels
    app.use(settings, Events([log_subscriber(settings, labels)]), registers=False)
    api = create(app, live=live)
    server = Server(api, settings)
    obeying = asyncio.create_task(supervisor.obey(messages, server))
    listening = socket.socket(fileno=orders["listening"])
    await run(api, server, listening, ready=lambda: channel.send(ready=True))
    obeying.cancel()


def main() -> NoReturn:
    die_with(int(sys.argv[2]))
    leave_signals_to_the_parent(signal.SIGHUP)
    code = 0
    try:
        uvloop.run(_serve(int(sys.argv[1])))
    except PenstockError as error:
        sys.stderr.write(f"penstock service: {error}\n")
        code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    # Threads that somebody's module started must not keep the process.
    os._exit(code)


if __name__ == "__main__":
    main()
