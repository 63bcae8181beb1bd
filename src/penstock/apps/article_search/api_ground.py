"""What the routes of articles stand on: one ``ArticleSearch`` per process of the service, and who may see what."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request

from penstock import Penstock
from penstock.apps.article_search import alerts, articles, generations
from penstock.apps.article_search.article import Article, Visibility
from penstock.apps.article_search.shared import ArticleSearch
from penstock.config import Settings
from penstock.service.actor import Actor
from penstock.service.bodies import media_type, validated
from penstock.service.ground import Ground
from penstock.service.problems import Problem, not_found

_WATCH_SECONDS = 30.0
_WARM_SECONDS = 30.0
# A character may come as `\u00e9`; beside the text there is little.
_BYTES_PER_CHARACTER = 6
_BYTES_BESIDE = 64 * 1024


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Inside the service's own, which has opened the application. The service watches as well as the workers do,
    because nobody else can tell that no worker is there; and it keeps vectors in memory, for its many searches."""
    app: Penstock = api.state.ground.app
    api.state.article_search = search = ArticleSearch(app)
    search.near.keep(app.connection, app.settings.articles_memory_mb)
    beside = [asyncio.create_task(_watch(app)), asyncio.create_task(_warm(search))]
    try:
        yield
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await search.close()


def parts(request: Request) -> ArticleSearch:
    found: ArticleSearch = request.app.state.article_search
    return found


async def _watch(app: Penstock) -> None:
    """A look that fails is told, and the next one comes all the same."""
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        try:
            await alerts.watch(app)
        except Exception as error:
            structlog.get_logger("penstock.articles").error("articles.watch_failed", error=repr(error))


async def _warm(search: ArticleSearch) -> None:
    """At the start, and after a switch of generations even if nobody searches. Searches find out by themselves as
    well, so a look that fails is only told."""
    while True:
        try:
            async with search.app.connection() as connection:
                await search.near.warm(connection, await generations.active(connection))
        except Exception as error:
            structlog.get_logger("penstock.articles").warning("articles.warm_failed", error=repr(error))
        await asyncio.sleep(_WARM_SECONDS)


async def article_seen(ground: Ground, actor: Actor, slug: str) -> Article:
    """What is somebody else's and private is not there, except for admins, whose look is noted."""
    async with ground.app.connection() as connection:
        found = await articles.get(connection, slug)
    if found is None:
        raise not_found(f"article {slug!r}")
    if found.owner != actor.name and found.visibility is Visibility.PRIVATE:
        if not actor.is_admin:
            raise not_found(f"article {slug!r}")
        await ground.note_look(actor.entry("article.look", kind="article", object=slug, owner=found.owner))
    return found


async def article_to_change(ground: Ground, actor: Actor, slug: str) -> Article:
    """Shared means that others read it, no more."""
    async with ground.app.connection() as connection:
        found = await articles.get(connection, slug)
    if found is None or not (found.owner == actor.name or actor.is_admin or found.visibility is Visibility.SHARED):
        raise not_found(f"article {slug!r}")
    if found.owner != actor.name and not actor.is_admin:
        raise Problem(
            403,
            f"Article {slug!r} belongs to {found.owner}, who shares it for reading; only they and admins change it.",
        )
    return found


def sees_tasks(actor: Actor, owner: str) -> bool:
    """Whether the embedding tasks of an article, and what went wrong with them, are this actor's business."""
    return actor.is_admin or actor.name == owner


def article_bytes(settings: Settings) -> int:
    """Of a request with an article; what is far too long is refused while it comes."""
    return settings.articles_max_characters * _BYTES_PER_CHARACTER + _BYTES_BESIDE


async def read_body(request: Request, model: type[Any]) -> Any:
    """JSON, checked like the bodies of other routes. Its route takes ``article_bytes``."""
    if media_type(request.headers.get("content-type", "")) != "application/json":
        raise Problem(415, "Send the article as application/json, with `title` and `content`.")
    given = _parsed(await request.body())
    if not isinstance(given, dict):
        raise Problem(422, 'body: it has to be an object, such as {"title": "…", "content": "…"}.')
    return validated(model, given)


def _parsed(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        problem = str(error)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8: byte {error.start:,} does not fit. Send JSON as UTF-8.") from None
    if "surrogate" in problem:
        raise Problem(422, f"body: it holds half a character ({problem}). Escapes of \\ud800 to \\udfff come in pairs.")
    raise Problem(400, f"The body is not JSON: {problem}.")
