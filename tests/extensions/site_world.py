"""Websites on loopback, many at once, each on an address of its own, with every behaviour that sites have.

    async with SiteWorld() as world:
        site = world.add(small_site())          # http://127.0.0.2:port/
        settings = {"sites_allowed_hosts": world.allowed()}

One server listens on all addresses of 127.0.0.0/8; the ``Host`` header says which site is meant.
"""

import asyncio
import contextlib
import datetime
import ssl
import tempfile
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.closing import stop_listening
from tests.extensions.site_answers import Answer, Answering, page


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """``at``: seconds of the loop's clock."""

    host: str
    target: str
    headers: dict[str, str]
    at: float


Served = Answer | Answering | bytes | str
Site = Mapping[str, Served]


@dataclass(slots=True)
class Place:
    """A site that is being served. ``pages`` may be changed while it is."""

    host: str
    port: int
    scheme: str
    pages: dict[str, Served] = field(default_factory=dict)

    def url(self, path: str = "/") -> str:
        return f"{self.scheme}://{self.host}:{self.port}{path}"

    @property
    def allowed(self) -> str:
        return f"{self.host}:{self.port}"


class SiteWorld:
    """``asked`` holds every request in order."""

    def __init__(self, *, tls: bool = False) -> None:
        self.asked: list[Asked] = []
        self.places: dict[str, Place] = {}
        self.port = 0
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "SiteWorld":
        context = _self_signed() if self._tls else None
        self._server = await asyncio.start_server(self._serve, "0.0.0.0", 0, ssl=context, limit=1024 * 1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    def add(self, site: Site, host: str | None = None) -> Place:
        number = len(self.places) + 2
        host = host or f"127.0.{number // 250}.{number % 250 + 1}"
        place = Place(host=host, port=self.port, scheme="https" if self._tls else "http", pages=dict(site))
        self.places[host] = place
        return place

    def allowed(self) -> tuple[str, ...]:
        """For the setting ``sites_allowed_hosts``."""
        return tuple(place.allowed for place in self.places.values())

    def targets(self, place: Place) -> list[str]:
        return [one.target for one in self.asked if one.host == place.host]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError, TimeoutError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        if first == b"\x16":  # somebody speaks TLS to a plain server
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
        host, target = headers["host"].partition(":")[0], head[0].split()[1]
        asked = Asked(host=host, target=target, headers=headers, at=asyncio.get_running_loop().time())
        self.asked.append(asked)
        place = self.places.get(host)
        served = None if place is None else place.pages.get(target, place.pages.get("*"))
        if served is None:
            served = Answer(status=404, body=b"not here")
        if isinstance(served, bytes | str):
            served = page(served)
        if callable(served):
            answer = served(asked)
            served = await answer if isinstance(answer, Awaitable) else answer
        await served.write(writer)


def _self_signed() -> ssl.SSLContext:
    """A certificate that nobody signed, for any address."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody.example")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "nobody.pem")
        file.write_bytes(pem)
        context.load_cert_chain(file)
    return context
