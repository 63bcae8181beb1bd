"""One page from the world's sites, without pace and without a database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from penstock import Penstock
from penstock.config import load
from penstock.extensions.sites.fetch.fetched import Fetched, Kind
from penstock.extensions.sites.fetch.live import Client, LiveFetcher
from tests.extensions.site_world import Place, SiteWorld

TEXT = "<!doctype html><html><body><p>Bread and cakes, baked every morning.</p></body></html>"
Getting = Callable[..., Awaitable[Fetched]]


@asynccontextmanager
async def getting(world: SiteWorld) -> AsyncIterator[Getting]:
    """``await get(place, "/path", **settings)``: from a client of its own, whose settings allow the world's sites."""
    opened: list[Client] = []

    async def got(place: Place | str, path: str = "/", *, kind: Kind = "page", **settings: Any) -> Fetched:
        given = {"sites_allowed_hosts": world.allowed(), "sites_page_timeout_seconds": 5.0} | settings
        client = Client(Penstock("test", settings=load(**given)))
        opened.append(client)
        url = place if isinstance(place, str) else place.url(path)
        return await LiveFetcher(None, client).get(url, kind=kind)

    yield got
    for client in opened:
        await client.close()
