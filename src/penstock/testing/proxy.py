"""A link to PostgreSQL that a test can spoil: slow, silent, cut, open on one side only, or led to another server.

Listens on a unix socket in a private folder, so that the test's database is open to nobody else, and forwards to the
server's own address, TCP or unix socket.
"""

import asyncio
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from penstock.closing import stop_listening

Mode = Literal["open", "blackhole", "half-open", "refuse"]
_CHUNK_BYTES = 64 * 1024
_SOCKET = ".s.PGSQL.5432"


class Proxy:
    """``url`` is the database through the proxy. Use with ``async with``, or ``start`` and ``close``."""

    def __init__(self, url: str) -> None:
        self._target = url
        self._server: asyncio.Server | None = None
        self._folder: Path | None = None
        self._links: set[_Link] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._mode: Mode = "open"
        self._delay_seconds = 0.0
        self._clear = asyncio.Event()
        self._clear.set()
        self.url = ""
        self.accepted = 0

    async def start(self) -> None:
        # Not TMPDIR: the path of a socket may have about a hundred characters only.
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-proxy-", dir="/tmp"))
        self._server = await asyncio.start_unix_server(self._accept, self._folder / _SOCKET)
        self.url = _through(self._folder, self._target)

    async def close(self) -> None:
        if self._server is not None:
            self.refuse()  # also lets go of data that is held: its pumps would wait for ever
            await stop_listening(self._server)
            self.cut()
            await self._server.wait_closed()
            # Before Python 3.12 that returns while connections are still being taken down.
            await asyncio.gather(*self._serving, return_exceptions=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def __aenter__(self) -> "Proxy":
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # ---------------------------------------------------------------- faults

    def delay(self, seconds: float) -> None:
        """Every chunk of data, both ways, takes this much longer."""
        self._delay_seconds = seconds

    def cut(self) -> int:
        """Reset every connection that is open now; new ones work. Returns how many."""
        links, self._links = self._links, set()
        for link in links:
            link.abort()
        return len(links)

    def blackhole(self) -> None:
        """Nothing passes any more in either direction, and nobody is told: a pulled cable."""
        self._set("blackhole")

    def half_open(self) -> None:
        """What clients send arrives, answers do not: the commit happens and nobody hears of it."""
        self._set("half-open")

    def refuse(self) -> None:
        """Connections are reset as they come; those that are open stay."""
        self._set("refuse")

    def lead_to(self, url: str) -> None:
        """New connections reach the server of ``url``, as after a failover; those that are open stay where they are."""
        self._target = url

    def restore(self) -> None:
        """Held data goes on its way, and new connections work again."""
        self._delay_seconds = 0.0
        self._set("open")

    def _set(self, mode: Mode) -> None:
        self._mode = mode
        if mode == "open" or mode == "refuse":
            self._clear.set()
        else:
            self._clear.clear()

    def holds_answer(self, application_name: str) -> bool:
        """Whether the server has answered a connection of that name, and the answer is kept back."""
        name = application_name.encode() + b"\0"
        return any(link.holds_answer and name in link.greeting for link in self._links)

    # ---------------------------------------------------------------- data

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        serving = asyncio.current_task()
        assert serving is not None
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        if self._mode == "refuse":
            writer.transport.abort()
            return
        link = _Link(writer)
        self._links.add(link)
        try:
            upstream_reader, upstream_writer = await _connect(self._target)
            link.upstream = upstream_writer
            if link not in self._links:
                return  # cut while it was being opened
            there = asyncio.create_task(self._pump(link, reader, upstream_writer, answers=False))
            back = asyncio.create_task(self._pump(link, upstream_reader, writer, answers=True))
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
            for pump in (there, back):
                pump.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
        except OSError:
            pass
        finally:
            self._links.discard(link)
            link.abort()

    async def _pump(
        self, link: "_Link", reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK_BYTES):
                if not (answers or link.greeting):
                    link.greeting = data
                if self._delay_seconds:
                    await asyncio.sleep(self._delay_seconds)
                if self._mode == "blackhole" or (self._mode == "half-open" and answers):
                    link.holds_answer = answers
                    await self._clear.wait()
                    link.holds_answer = False
                writer.write(data)
                await writer.drain()


class _Link:
    """Both sides of one connection."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self._client = client
        self.upstream: asyncio.StreamWriter | None = None
        # What the client said first: it names the purpose of the connection.
        self.greeting = b""
        self.holds_answer = False

    def abort(self) -> None:
        for writer in (self._client, self.upstream):
            if writer is not None:
                writer.transport.abort()


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    host = asked.get("host", [parts.hostname or "127.0.0.1"])[0]
    port = int(asked.get("port", [str(parts.port or 5432)])[0])
    if host.startswith("/"):
        return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
    return await asyncio.open_connection(host, port)


def _through(folder: Path, url: str) -> str:
    """The same user, password and database by another way."""
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | {"host": str(folder), "port": "5432"}
    return urlunsplit(parts._replace(netloc=f"{login}@" if login else "", query=urlencode(query)))
