"""Many small websites on loopback, each with an address of its own, in a thread of the test.

127.1.x.y answers, 127.2.x.y takes the connection and never says a word. Counts what was asked of whom.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_PAGE = """<!doctype html><html lang="en"><head><title>{name} - boat repair in Harbour {number}</title>
<meta name="description" content="{name} repairs wooden boats and engines in Harbour {number}.">
<link rel="canonical" href="http://{host}{path}"><meta property="og:site_name" content="{name}"></head><body>
<nav><a href="/">Home</a> <a href="/services">Services</a> <a href="/about">About us</a></nav>
<main><h1>{heading}</h1><p>{name} repairs wooden boats, sails and engines for owners in Harbour {number} and around.
A full inspection of a hull costs 120 euro and takes two days.</p><h2>Opening hours</h2>
<p>The workshop is open from Monday to Friday, eight to five, and on Saturday by appointment.</p>
<p>Write to workshop{number}@example.org or call +1 555 01{number:02d}.</p></main>
<footer>Copyright {name}, 4 Quay Street, Harbour {number}</footer></body></html>"""


class Sites:
    """What the server saw."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: Counter[tuple[str, str]] = Counter()
        self.hanging = 0
        # Addresses that leave their next request without an answer.
        self.hang_once: set[str] = set()

    def url(self, number: int, *, hangs: bool = False) -> str:
        return f"http://{self.host(number, hangs=hangs)}/"

    def host(self, number: int, *, hangs: bool = False) -> str:
        return f"127.{2 if hangs else 1}.{number // 200}.{number % 200 + 1}:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer_one(head.decode("latin-1"), reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _answer_one(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = head.split(" ", 2)[1]
        host = writer.get_extra_info("sockname")[0]
        self.asked[(host, path)] += 1
        if host.startswith("127.2.") or host in self.hang_once:
            self.hang_once.discard(host)
            self.hanging += 1
            try:
                await reader.read()  # until the other side gives up
            finally:
                self.hanging -= 1
        _, _, high, low = host.split(".")
        number = int(high) * 200 + int(low) - 1
        headings = {"/": "Boat repair", "/services": "Services and prices", "/about": "About the workshop"}
        known = path in headings
        body = _PAGE.format(
            name=f"Boatyard {number}",
            number=number,
            host=f"{host}:{self.port}",
            path=path,
            heading=headings.get(path, ""),
        ).encode()
        body = body if known else b"not here"
        status = "200 OK" if known else "404 Not Found"
        kind = "text/html; charset=utf-8" if known else "text/plain"
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
        )
        await writer.drain()


@contextmanager
def serving() -> Iterator[Sites]:
    sites = Sites()
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(sites.answer, "0.0.0.0", 0, backlog=1024))
    sites.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, name="sites", daemon=True)
    thread.start()

    async def end() -> None:
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    try:
        yield sites
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
