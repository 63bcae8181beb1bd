"""Article search on a real database, with the real model behind a switch.

async with article_world(database_url) as world:
    saved = await world.save("Pumps", "They move water.")
    await world.drain()                        # embeds what is due, here and now
    world.switch.error = EmbedderBusy("away")  # from now on every embedding fails with it
"""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock import Penstock
from penstock.config import load
from penstock.events import Event, Events
from penstock.extensions import articles as article_search
from penstock.extensions.articles import articles, writing
from penstock.extensions.articles.articles import Article, NewArticle, Visibility
from penstock.extensions.articles.embedders.embedder import Embedder, Purpose, Vectors
from penstock.extensions.articles.embedders.registry import Embedders
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.shared import ArticleSearch
from penstock.extensions.articles.statistics import Counted
from penstock.extensions.articles.writing import Change, Saved
from penstock.testing import Drained, drain

OWNER = "ada"


@dataclass
class Switch:
    """What the embedder does: fails with ``error``, or only for texts that hold ``marker``. ``texts``: all it was
    given; ``most_at_once``: calls under way at one time."""

    error: Exception | None = None
    marker: str | None = None
    texts: list[str] = field(default_factory=list)
    calls: int = 0
    at_once: int = 0
    most_at_once: int = 0
    # Called before each embedding of documents, with its texts.
    before: Any = None


class Switched:
    """The real embedder behind the switch."""

    def __init__(self, real: Embedder, switch: Switch) -> None:
        self._real, self._switch = real, switch
        self.name, self.model, self.dimensions = real.name, real.model, real.dimensions

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        switch = self._switch
        if purpose == "query":
            return await self._real.embed(texts, purpose=purpose)
        switch.calls += 1
        switch.at_once += 1
        switch.most_at_once = max(switch.most_at_once, switch.at_once)
        switch.texts += texts
        try:
            if switch.before is not None:
                await switch.before(list(texts))
            hit = switch.marker is None or any(switch.marker in text for text in texts)
            if switch.error is not None and hit:
                raise switch.error
            return await self._real.embed(texts, purpose=purpose)
        finally:
            switch.at_once -= 1

    async def close(self) -> None:
        await self._real.close()


class SwitchedEmbedders(Embedders):
    def __init__(self, app: Penstock, switch: Switch) -> None:
        super().__init__(app)
        self._switch = switch

    async def for_generation(self, generation: Generation) -> Embedder:
        return Switched(await super().for_generation(generation), self._switch)


@dataclass(repr=False)  # it holds everything that was heard
class World:
    app: Penstock
    search: ArticleSearch
    switch: Switch
    events: list[Event]

    async def save(self, title: str, content: str = "", **more: Any) -> Saved:
        new = NewArticle(title=title, content=content, owner=more.pop("owner", OWNER), author=OWNER, **more)
        return await writing.create(self.search, new)

    async def share(self, title: str, content: str = "", **more: Any) -> Saved:
        return await self.save(title, content, visibility=Visibility.SHARED, **more)

    async def edit(self, slug: str, *, by: str = OWNER, **change: Any) -> Saved:
        return await writing.update(self.search, slug, Change(**change), by=by)

    async def delete(self, slug: str, *, by: str = OWNER) -> int:
        return await writing.delete(self.search, slug, by=by)

    async def drain(self, *, advance: bool = True, **more: Any) -> Drained:
        return await drain(self.app, advance=advance, only=[PIPELINE], **more)

    async def article(self, slug: str) -> Article | None:
        async with self.app.connection() as connection:
            return await articles.get(connection, slug)

    async def fetch(self, query: str, *values: Any) -> list[Any]:
        async with self.app.connection() as connection:
            return list(await connection.fetch(query, *values))

    async def value(self, query: str, *values: Any) -> Any:
        async with self.app.connection() as connection:
            return await connection.fetchval(query, *values)

    async def vectors(self, article_id: int, generation: int = 1) -> list[Any]:
        """What is indexed of an article, in the order of the text."""
        table = f"article_search.vectors_{generation}"
        return await self.fetch(f"select * from {table} where article_id = $1 order by ordinal", article_id)

    async def indexed_revision(self, article_id: int, generation: int = 1) -> int | None:
        query = "select revision from article_search.indexed where article_id = $1 and generation = $2 and chunks > 0"
        return await self.value(query, article_id, generation)

    def heard(self, name: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.name == name]


def always_counted(app: Penstock) -> Counted:
    """On a busy machine every count is a slow one, and searches would repeat the one before."""
    return Counted(app, quick_seconds=math.inf)


@asynccontextmanager
async def article_world(database_url: str, **settings: Any) -> AsyncIterator[World]:
    heard: list[Event] = []
    given = {"database_url": database_url, "articles_query_timeout_seconds": 60.0} | settings
    app = Penstock("article-world", settings=load(**given), events=Events([heard.append]))
    switch = Switch()
    search = ArticleSearch(app)
    search.counted = always_counted(app)
    search.embedders = SwitchedEmbedders(app, switch)
    search.indexer._embedders = search.embedders
    article_search.install(app, search)
    async with app:
        try:
            yield World(app, search, switch, heard)
        finally:
            await search.close()
