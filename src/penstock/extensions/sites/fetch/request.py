"""One request to one checked address: connect, send, read within the caps, judge whether it is a page, and say in a
sentence what went wrong."""

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2

from penstock.extensions.sites.fetch import guard
from penstock.extensions.sites.fetch.address import host_and_port
from penstock.extensions.sites.fetch.unpacking import NotPacked, Unpacker
from penstock.extensions.sites.problem import SiteBusy, SiteProblem

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
    places = await guard.addresses(host, port, caps.allowed_hosts)
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
