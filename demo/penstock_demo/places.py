"""What `penstock up` serves on loopback for `penstock demo`: made-up websites, a shop that knows products, a Wikidata.

One port for all of them. Websites are told apart by the name that is asked for, such as
``willow-lane-bicycles.localhost``, which every browser looks for on its own machine.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import orjson

from penstock.closing import stop_listening
from penstock.config import Settings
from penstock.extensions.catalogue import sample
from penstock.extensions.catalogue.http_options import SHOP_PATH
from penstock.extensions.linking.sample_source import PATH as WIKIDATA_PATH
from penstock.extensions.linking.sample_source import SampleSource
from penstock.extensions.sites.settings import SitesSettings
from penstock_demo import businesses

_LOOPBACK = "127.0.0.1"
_REQUEST_SECONDS = 10.0
_MOST_HEAD_BYTES = 64 * 1024
_JSON = "application/json; charset=utf-8"
# The shop does not take such an article number, and one of them it never finds the time for.
_NOT_TAKEN = frozenset("#?*")
_NEVER_ANSWERED = "overloaded"


class SamplePlaces:
    """``answer`` is what ``asyncio.start_server`` calls for every connection."""

    def __init__(self) -> None:
        self._sites = businesses.businesses()
        self._wikidata = SampleSource()
        self._shop = {word: one for one in sample.shop_products() for word in (one["sku"], one["gtin"])}

    @property
    def slugs(self) -> list[str]:
        return list(self._sites)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request per connection; whatever is odd ends it."""
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, *_ = head.split(" ", 2)
                status, kind, body = self._answer(target, _host(head))
                lines = (
                    f"HTTP/1.1 {status}",
                    f"Content-Type: {kind}",
                    f"Content-Length: {len(body)}",
                    "Connection: close",
                )
                writer.write("\r\n".join((*lines, "", "")).encode() + (b"" if method == "HEAD" else body))
                await writer.drain()
        except (TimeoutError, ValueError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _answer(self, target: str, host: str) -> businesses.Answer:
        parts = urlsplit(target)
        if (business := self._sites.get(host.partition(".")[0])) is not None:
            return businesses.answer(business, parts.path, f"http://{host}")
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == WIKIDATA_PATH:
            return "200 OK", _JSON, orjson.dumps(self._wikidata.data(asked))
        if parts.path == SHOP_PATH:
            return self._product(asked.get("text", "").upper())
        return "404 Not Found", _JSON, b'{"error": "There is no such page."}'

    def _product(self, text: str) -> businesses.Answer:
        if _NOT_TAKEN & set(text):
            said = f"{text!r} is no article number: it may hold letters, digits and hyphens only"
            return "422 Unprocessable Entity", _JSON, orjson.dumps({"error": said})
        if text == _NEVER_ANSWERED.upper():
            return "503 Service Unavailable", _JSON, b'{"error": "The shop is overloaded."}'
        found = self._shop.get(text)
        if found is None:
            return "404 Not Found", _JSON, b'{"error": "The shop does not have it."}'
        return "200 OK", _JSON, orjson.dumps(found)


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[Settings]:
    """The settings with which workers may ask them. Beside the service's port where that is free, so that addresses
    are the same after a restart."""
    places = SamplePlaces()
    server = await _started(places, settings.port)
    port = server.sockets[0].getsockname()[1]
    allowed = (*settings.of(SitesSettings).allowed_hosts, *(f"{slug}.localhost:{port}" for slug in places.slugs))
    try:
        yield settings.model_copy(
            update={"sample_url": f"http://{_LOOPBACK}:{port}", "sites_allowed_hosts": tuple(dict.fromkeys(allowed))}
        )
    finally:
        await stop_listening(server)


async def _started(places: SamplePlaces, beside: int) -> asyncio.Server:
    for port in (beside + 1, 0) if 0 < beside < 65535 else (0,):
        try:
            return await asyncio.start_server(places.answer, _LOOPBACK, port, limit=_MOST_HEAD_BYTES)
        except OSError:
            if port == 0:
                raise
    raise AssertionError("a free port is always tried")


def _host(head: str) -> str:
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "host" and all(sign.isalnum() or sign in ".:-[]" for sign in value.strip()):
            return value.strip().lower()
    return _LOOPBACK
