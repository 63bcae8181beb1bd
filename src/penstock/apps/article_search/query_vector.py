"""The vector of a query, or why there is none: a search goes on without it."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from penstock.apps.article_search.embedders.embedder import Vectors
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.trouble import EmbedderMisconfigured
from penstock.errors import HandlerError, ThrottledError

if TYPE_CHECKING:
    from penstock.apps.article_search.shared import ArticleSearch

_SO = "so words alone were searched for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """``notice``: for whoever searched."""

    notice: str


async def query_vector(shared: "ArticleSearch", generation: Generation, text: str) -> Vectors | Unavailable:
    """Never raises for anything the embedder does, and never waits longer than the setting says."""
    seconds = shared.app.settings.articles_query_timeout_seconds
    try:
        async with asyncio.timeout(seconds):
            embedder = await shared.embedders.for_generation(generation)
            row: Vectors = (await embedder.embed([text], purpose="query"))[0]
            return row
    except TimeoutError:
        why = f"did not answer within {seconds:g} s"
    except ThrottledError:
        why = "asks for fewer requests"
    except EmbedderMisconfigured as error:
        return _unavailable(generation, f"is not set up right, {_SO}: {error}")
    except HandlerError as error:
        return _unavailable(generation, f"does not work at the moment, {_SO}: {error}")
    except Exception as error:
        structlog.get_logger("penstock.articles").error(
            "articles.query_failed", embedder=generation.embedder, error=repr(error)
        )
        why = f"failed ({type(error).__name__})"
    return _unavailable(generation, f"{why}, {_SO}.")


def _unavailable(generation: Generation, what: str) -> Unavailable:
    return Unavailable(notice=f"The embedder {generation.embedder!r} {what}")
