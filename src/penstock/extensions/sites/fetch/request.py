"""One request to one checked address: resolve, connect, send, read within the caps, judge whether it is a page, and say
in a sentence what went wrong.

Which machine a name stands for is decided on the addresses themselves, for every hop anew; what was decided is then
what is connected to, so that a name cannot change its meaning in between.
"""

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2

from penstock.console.files.sources.guard import is_public
from penstock.extensions.sites.fetch.address import host_and_port
from penstock.extensions.sites.fetch.fetched import SiteBusy, SiteProblem

GZIP_MAGIC = b"\x1f\x8b"
_PACKED = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
# A file of many empty parts would keep us busy for nothing.
_MOST_PARTS = 100
_MOST_LAYERS = 3
# A name with fifty addresses is not tried fifty times.
_MOST_ADDRESSES = 3
# RFC 6761: such names stand for loopback, also where the name service does not know it.
_THIS_MACHINE = ".localhost"
_HEADERS_TOO_LARGE = 431
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<meta")
_PASSING = frozenset({408, 425})
_SNIFFED_BYTES = 4096
# Files that people mistake for pages, by their first bytes.
_FILES = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"PK\x03\x04", "a ZIP file"),
    (b"\x1f\x8b", "a packed file"),
)
_SENTENCES = {
    401: "{url} wants a login (answer 401), and pages behind one are not read.",
    403: "{url} refuses to be read by us (answer 403). Ask its owner to let the reader in.",
    404: "There is no page at {url} (answer 404). Check the address.",
    410: "The page at {url} was taken away for good (answer 410). Check the address.",
    451: "{url} is withheld for legal reasons (answer 451).",
}


class NotPacked(Exception):
    """The bytes are not what the header says, or broken."""


class Unpacker:
    """``room_bytes``: at most one byte more than this comes out, and that one says that it was too much."""

    def __init__(self, encodings: str, room_bytes: int) -> None:
        names = [name.strip().lower() for name in encodings.split(",")]
        known = [name for name in names if name in _PACKED]
        # A packing that we did not ask for passes as it is; whoever looks at the bytes sees what became of it.
        self.unknown = next((name for name in names if name not in _PACKED and name not in ("", "identity")), None)
        if len(known) > _MOST_LAYERS:
            raise NotPacked(f"packed {len(known)} times over")
        self._layers = [_Layer(name) for name in reversed(known)]
        self._room_bytes = room_bytes
        self._given_bytes = 0

    def feed(self, piece: bytes) -> bytes:
        left = self._room_bytes - self._given_bytes + 1
        for layer in self._layers:
            piece = layer.feed(piece, left)
        piece = piece[:left]
        self._given_bytes += len(piece)
        return piece

    @property
    def full(self) -> bool:
        return self._given_bytes > self._room_bytes


class _Layer:
    """Servers that say gzip and send plain text are common; such text passes as it is."""

    def __init__(self, name: str) -> None:
        self._bits = _PACKED[name]
        self._unpack: zlib._Decompress | None = None
        self._plain = False
        self._begun = b""
        self._parts = 0

    def feed(self, piece: bytes, most_bytes: int) -> bytes:
        if self._plain:
            return piece
        if self._unpack is None:
            self._begun += piece
            if len(self._begun) < 2:
                return b""
            piece, self._begun = self._begun, b""
            if not self._begin(piece):
                return piece
        return self._unpacked(piece, most_bytes)

    def _begin(self, start: bytes) -> bool:
        bits = self._bits
        if bits == zlib.MAX_WBITS:
            if start.lstrip()[:1] == b"<":
                self._plain = True
            elif start[0] & 0x0F != 8 or (start[0] * 256 + start[1]) % 31:
                bits = -zlib.MAX_WBITS  # deflate without its header: as common as with it
        elif start[:2] != GZIP_MAGIC:
            self._plain = True
        if not self._plain:
            self._unpack = zlib.decompressobj(bits)
        return not self._plain

    def _unpacked(self, piece: bytes, most_bytes: int) -> bytes:
        out = bytearray()
        while piece and self._unpack is not None and len(out) < most_bytes:
            if self._unpack.eof:  # a gzip file may have several parts, and rubbish after them
                self._parts += 1
                if self._bits == zlib.MAX_WBITS or piece[:2] != GZIP_MAGIC or self._parts >= _MOST_PARTS:
                    break
                self._unpack = zlib.decompressobj(self._bits)
            try:
                out += self._unpack.decompress(piece, most_bytes - len(out))
            except zlib.error as error:
                raise NotPacked(str(error)) from None
            piece = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
        return bytes(out)


def gunzipped(body: bytes, room_bytes: int) -> bytes | None:
    """A .gz file; None where it is broken or larger than there is room for."""
    unpacker = Unpacker("gzip", room_bytes)
    try:
        unpacked = unpacker.feed(body)
    except NotPacked:
        return None
    return None if unpacker.full else unpacked


def is_allowed(host: str, port: int, allowed: tuple[str, ...]) -> bool:
    """By its name as it is written in the setting, never by what the name stands for."""
    place = f"[{host}]" if ":" in host else host
    listed = {one.lower() for one in allowed}
    return bool(listed & {host, place, f"{place}:{port}"})


async def addresses(host: str, port: int, allowed: tuple[str, ...]) -> list[str]:
    """Where to connect, best first. One forbidden address among several refuses the name."""
    found = await _resolved(host)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if not is_allowed(host, port, allowed):
        for address in found:
            if not is_public(address):
                raise SiteProblem(
                    f"{host} is not read: {address} is an address of a private, local or reserved network. Give the "
                    "address of a public website. Or allow it: stop the workers (`penstock up`), start them again with "
                    f"PENSTOCK_SITES_ALLOWED_HOSTS={place} in their environment, and run the site again."
                )
    return [str(address) for address in found[:_MOST_ADDRESSES]]


async def _resolved(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    if host.endswith(_THIS_MACHINE):
        return [ipaddress.IPv4Address("127.0.0.1")]
    try:
        loop = asyncio.get_running_loop()
        entries = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise SiteBusy(f"The name {host} cannot be looked up just now ({error.strerror}).") from None
        raise _unknown(host) from None
    except (OSError, UnicodeError, ValueError):
        raise _unknown(host) from None
    if not entries:
        raise _unknown(host)
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries]


def _unknown(host: str) -> SiteProblem:
    return SiteProblem(f"There is no host called {host}. Check how the address is written.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """``body`` is read of a good answer only; ``packed`` names a packing that we could not undo."""

    url: str
    status: int
    headers: httpx2.Headers
    body: bytes
    packed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """``cut``: what is too large is read up to the cap, instead of refused."""

    max_bytes: int
    cut: bool
    allowed_hosts: tuple[str, ...]


async def ask(http: httpx2.AsyncClient, url: str, caps: Caps, headers: Mapping[str, str]) -> HttpReply:
    """To the addresses of its host, each checked before, until one takes the connection."""
    host, port = host_and_port(url)
    places = await addresses(host, port, caps.allowed_hosts)
    for place in places[:-1]:
        try:
            return await _ask_at(http, url, place, caps, headers)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if _tls_error(error) is not None:
                raise _problem(url, error) from None
        except httpx2.HTTPError as error:
            raise _problem(url, error) from None
    try:
        return await _ask_at(http, url, places[-1], caps, headers)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _problem(url, error) from None


async def _ask_at(http: httpx2.AsyncClient, url: str, place: str, caps: Caps, headers: Mapping[str, str]) -> HttpReply:
    """Connects to the address; the name goes along for the server and for its certificate."""
    asked = httpx2.URL(url)
    sent = {**headers, "Host": asked.netloc.decode("ascii")}
    extensions = {"sni_hostname": host_and_port(url)[0]}
    async with http.stream("GET", asked.copy_with(host=place), headers=sent, extensions=extensions) as answer:
        if not 200 <= answer.status_code < 300:
            return HttpReply(url=url, status=answer.status_code, headers=answer.headers, body=b"")
        try:
            body, packed = await _body(answer, url, caps)
        except NotPacked as error:
            raise SiteProblem(
                f"{url} cannot be read: it says that it is packed as {answer.headers.get('content-encoding')}, and "
                f"that is not so ({error})."
            ) from None
        return HttpReply(url=url, status=answer.status_code, headers=answer.headers, body=body, packed=packed)


async def _body(answer: httpx2.Response, url: str, caps: Caps) -> tuple[bytes, str | None]:
    """Counted before and after unpacking: neither a header nor a small download is believed."""
    said = answer.headers.get("content-length", "")
    if not caps.cut and said.isdigit() and len(said) < 20 and int(said) > caps.max_bytes:
        raise too_large(url, caps.max_bytes)
    unpacker = Unpacker(answer.headers.get("content-encoding", ""), caps.max_bytes)
    body, came_bytes = bytearray(), 0
    async for piece in answer.aiter_raw():
        came_bytes += len(piece)
        body += unpacker.feed(piece)
        if unpacker.full or came_bytes > caps.max_bytes:
            if not caps.cut:
                raise too_large(url, caps.max_bytes)
            break
    return bytes(body[: caps.max_bytes]), unpacker.unknown


def too_large(url: str, max_bytes: int) -> SiteProblem:
    return SiteProblem(
        f"{url} is larger than {max_bytes:,} bytes, the most that is read of a page. Give another page, or raise "
        "PENSTOCK_SITES_MAX_PAGE_BYTES."
    )


def _problem(url: str, error: Exception) -> SiteProblem | SiteBusy:
    tls = _tls_error(error)
    if isinstance(tls, ssl.SSLCertVerificationError):
        return SiteProblem(
            f"{url} has a certificate that cannot be trusted ({tls.verify_message.rstrip('.')}). Its owner has to "
            "renew or repair it."
        )
    if tls is not None:
        return SiteProblem(
            f"No secure connection to {url} can be made ({tls.reason or tls}). Check that the site speaks https there."
        )
    if isinstance(error, httpx2.InvalidURL):
        return SiteProblem(f"{url[:200]} is no address that can be asked for ({error}).")
    if isinstance(error, httpx2.TimeoutException):
        return SiteBusy(f"{url} did not answer in time.")
    if isinstance(error, httpx2.ConnectError):
        return SiteBusy(f"{url} takes no connection ({error}). The site may be down, or the address wrong.")
    if any(getattr(one, "error_status_hint", None) == _HEADERS_TOO_LARGE for one in _causes(error)):
        return SiteProblem(f"{url} answers with headers that are too large to be read.")
    return SiteBusy(f"The connection to {url} broke off ({str(error) or type(error).__name__}).")


def _tls_error(error: BaseException) -> ssl.SSLError | None:
    return next((one for one in _causes(error) if isinstance(one, ssl.SSLError)), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def check_status(reply: HttpReply) -> None:
    """Raises for every answer that holds no page. 429 is not judged here: it is a matter of waiting."""
    status, url = reply.status, reply.url
    if 200 <= status < 300:
        return
    if status >= 500 or status in _PASSING:
        raise SiteBusy(f"{url} answered {status}: the site has a problem just now.")
    if status in _SENTENCES:
        raise SiteProblem(_SENTENCES[status].format(url=url))
    if 300 <= status < 400:
        raise SiteProblem(f"{url} answered {status} and does not say where the page is.")
    raise SiteProblem(f"{url} refused the request (answer {status}).")


def check_page(reply: HttpReply) -> None:
    """Type and first bytes. The bytes win: headers are wrong more often."""
    url, body = reply.url, reply.body
    if not body.strip(b" \t\r\n\0\xef\xbb\xbf"):
        raise SiteProblem(f"The page at {url} is empty. Give a page that has text.")
    for magic, what in _FILES:
        if body.startswith(magic):
            raise SiteProblem(f"{url} is {what}, not a web page. Give the address of a page.")
    said = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if looks_like_html(body):
        return
    if reply.packed is not None:
        raise SiteProblem(f"{url} is packed as {reply.packed!r}, which was not asked for and cannot be undone.")
    if said in _HTML_TYPES and not _is_binary(body):
        return
    shown = f"is of the type {said!r}" if said and said not in _HTML_TYPES else "does not look like HTML"
    raise SiteProblem(f"{url} {shown}, not a web page. Give the address of a page.")


def looks_like_html(body: bytes) -> bool:
    """Its beginning, in one- and two-byte characters alike."""
    start = body[:_SNIFFED_BYTES].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if start.startswith((b"<?xml", b"<!--")):
        return b"<html" in start
    return start.startswith(_HTML_STARTS)


def _is_binary(body: bytes) -> bool:
    """NUL bytes in no order of two-byte characters."""
    start = body[:_SNIFFED_BYTES]
    return b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))
