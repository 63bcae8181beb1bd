"""Where the search bench measures: article search in a database of its own, its service, and runner processes."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psutil
from pydantic import SecretStr

from penstock.application import Penstock
from penstock.console.http.actor import hashed
from penstock.console.http.app import create
from penstock.console.storage import tokens, users
from penstock.extensions import articles
from penstock.extensions.articles import generations
from penstock.extensions.articles.embedders.local import BuiltinEmbedder
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch
from penstock.fleet.fleet import Fleet
from penstock_bench.ground import Ground, Site, inherited, ready
from penstock_bench.search_app import AT_ONCE, BATCH_SIZE

OWNER = "bench"
# One for each core of the machine that the goals were set for.
RUNNERS = 2
AWAY = "away"
_APP = "penstock_bench.search_app:app"
_LOOK_SECONDS = 0.05
_MEGABYTE = 2**20


@dataclass(slots=True)
class Memory:
    """The most that this process and its runners held, each and together, looked at twenty times a second."""

    runners: tuple[int, ...] = ()
    peak_bytes: dict[str, int] = field(default_factory=dict)

    def look(self) -> None:
        held = {"service": _rss_bytes(os.getpid())}
        held["worker"] = sum(_rss_bytes(pid) for pid in self.runners)
        held["both"] = sum(held.values())
        self.peak_bytes = {name: max(self.peak_bytes.get(name, 0), value) for name, value in held.items()}

    async def watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def peak_mb(self, name: str) -> int:
        return round(self.peak_bytes[name] / _MEGABYTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSite:
    """``search`` to write and look with, as a command does; ``client`` to ask the service as a user; ``serving``:
    what the service asks itself."""

    site: Site
    app: Penstock
    search: ArticleSearch
    serving: ArticleSearch
    client: httpx2.AsyncClient

    async def generation(self) -> Generation:
        async with self.app.connection() as connection:
            return await generations.active(connection)

    @asynccontextmanager
    async def fleet(self) -> AsyncIterator[Fleet]:
        """A real supervisor, here, and its runner processes, which serve the embeddings and nothing else."""
        fleet = Fleet(settings=self.app.settings, url=self.site.url, app=_APP, only=(PIPELINE,))
        batches = {
            BATCH_SIZE: str(self.app.settings.of(ArticleSettings).batch_size),
            AT_ONCE: str(self.app.settings.of(ArticleSettings).batches_at_once),
        }
        with inherited(batches):
            async with ready(fleet):
                yield fleet


@asynccontextmanager
async def opened_site(ground: Ground, batch_size: int) -> AsyncIterator[SearchSite]:
    async with ground.site() as site, AsyncExitStack() as stack:
        settings = site.settings.model_copy(
            update={
                "database_url": SecretStr(site.url),
                "articles_batch_size": batch_size,
                "articles_batches_at_once": RUNNERS,
                "runners": RUNNERS,
                # The embedder that is away would fill the screen.
                "log_level": "error",
                "articles_embedders_file": _away(ground.folder / "embedders.toml"),
            }
        )
        app = Penstock("bench", settings=settings)
        search = articles.install(app)
        stack.push_async_callback(search.close)
        api = create(app)
        await stack.enter_async_context(api.router.lifespan_context(api))
        client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=api),
            base_url="http://bench",
            headers={"Authorization": f"Bearer {await _token(site)}"},
            timeout=60,
        )
        await stack.enter_async_context(client)
        yield SearchSite(site=site, app=app, search=search, serving=api.state.article_search, client=client)


async def _token(site: Site) -> str:
    token = secrets.token_urlsafe(32)
    user = await users.create(site.connection, name=OWNER, role="operator")
    assert user is not None
    await tokens.create(
        site.connection, user_id=user.id, name="bench", hash=hashed(token), hint=token[:8], expires_at=None
    )
    return token


def _away(path: Path) -> Path:
    """An embedder of the same model, at a port where nobody listens."""
    path.write_text(
        f'[[embedder]]\nname = "{AWAY}"\nkind = "openai"\nurl = "http://127.0.0.1:9/v1"\n'
        f'model = "{BuiltinEmbedder.model}"\ndimensions = {BuiltinEmbedder.dimensions}\n'
    )
    return path


def _rss_bytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
