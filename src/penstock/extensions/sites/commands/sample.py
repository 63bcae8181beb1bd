"""`penstock sites sample-site`: a small made-up website on loopback, to try an analysis without network."""

import asyncio
from importlib.resources import files
from typing import Annotated

import typer

from penstock.errors import UsageError
from penstock.terminal.command import command
from penstock.terminal.session import Session
from penstock.terminal.waiting import until_stopped

PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free one.")]
_PAGES = {"/": "index.html"} | {f"/{name}": f"{name}.html" for name in ("repairs", "hire", "about", "contact")}
_HTML = "text/html; charset=utf-8"
_REQUEST_SECONDS = 10.0
_MOST_HEAD_BYTES = 64 * 1024


def register(app: typer.Typer) -> None:
    @command(app, "sample-site")
    async def sample_site(session: Session, port: PortOption = 0) -> None:
        """Serve a small made-up website on loopback until Ctrl-C; prints what to set so that it may be read."""
        try:
            server = await asyncio.start_server(answer, "127.0.0.1", port, limit=_MOST_HEAD_BYTES)
        except OSError as error:
            raise UsageError(f"Port {port} cannot be had: {error.strerror}. Choose another with --port.") from None
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        setting = f"PENSTOCK_SITES_ALLOWED_HOSTS={place}"
        session.out.show(
            {"url": f"http://{place}/", "setting": setting},
            f"http://{place}/\n\nLoopback is not read unless it is allowed. Start the workers with\n"
            f"  {setting} penstock up\nand then\n  penstock sites add http://{place}/ --wait --report report.html",
        )
        async with server:
            await until_stopped()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request per connection; whatever is odd ends it."""
    try:
        async with asyncio.timeout(_REQUEST_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, *_ = head.decode("latin-1").split(" ", 2)
            status, kind, body = _found(target.partition("?")[0], _host(head))
            headers = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close"
            writer.write(f"HTTP/1.1 {status}\r\n{headers}\r\n\r\n".encode() + (b"" if method == "HEAD" else body))
            await writer.drain()
    except (TimeoutError, ValueError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


def _found(path: str, host: str) -> tuple[str, str, bytes]:
    if path == "/robots.txt":
        return "200 OK", "text/plain", f"User-agent: *\nAllow: /\nSitemap: http://{host}/sitemap.xml\n".encode()
    if path == "/sitemap.xml":
        places = "".join(f"<url><loc>http://{host}{one}</loc></url>" for one in _PAGES)
        schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return "200 OK", "application/xml", f'<urlset xmlns="{schema}">{places}</urlset>'.encode()
    if (name := _PAGES.get(path)) is None:
        return "404 Not Found", _HTML, b"<title>Not found</title><p>There is no such page.</p>"
    return "200 OK", _HTML, files("penstock.extensions.sites").joinpath("sample_site", name).read_bytes()


def _host(head: bytes) -> str:
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "host" and all(sign.isalnum() or sign in ".:-[]" for sign in value.strip()):
            return value.strip()
    return "127.0.0.1"
