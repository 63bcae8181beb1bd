"""One request to one checked address: connect, send, read within the caps, and say in a sentence what went wrong."""

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2

from penstock.apps.website_analysis.fetch import guard
from penstock.apps.website_analysis.fetch.address import host_and_port
from penstock.apps.website_analysis.fetch.unpacking import NotPacked, Unpacker
from penstock.apps.website_analysis.problem import SiteBusy, SiteProblem

_HEADERS_TOO_LARGE = 431


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
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


async def ask(http: httpx2.AsyncClient, url: str, caps: Caps, headers: Mapping[str, str]) -> Reply:
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


async def _ask_at(http: httpx2.AsyncClient, url: str, place: str, caps: Caps, headers: Mapping[str, str]) -> Reply:
    """Connects to the address; the name goes along for the server and for its certificate."""
    asked = httpx2.URL(url)
    sent = {**headers, "Host": asked.netloc.decode("ascii")}
    extensions = {"sni_hostname": host_and_port(url)[0]}
    async with http.stream("GET", asked.copy_with(host=place), headers=sent, extensions=extensions) as answer:
        if not 200 <= answer.status_code < 300:
            return Reply(url=url, status=answer.status_code, headers=answer.headers, body=b"")
        try:
            body, packed = await _body(answer, url, caps)
        except NotPacked as error:
            raise SiteProblem(
                f"{url} cannot be read: it says that it is packed as {answer.headers.get('content-encoding')}, and "
                f"that is not so ({error})."
            ) from None
        return Reply(url=url, status=answer.status_code, headers=answer.headers, body=body, packed=packed)


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
