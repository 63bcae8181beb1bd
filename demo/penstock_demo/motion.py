"""Keeps the world of `penstock demo` moving while somebody looks at it: a batch of receipts, an article rewritten."""

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

from penstock_demo.world import OWNER, RECEIPTS, World

if TYPE_CHECKING:
    from penstock.application import Penstock
    from penstock.terminal.session import Session

_EVERY_SECONDS = 4.0
_LOOK_SECONDS = 0.5
_RECEIPTS = 25
_ARTICLES = 50


async def keep_moving(session: "Session", app: "Penstock", world: World, seconds: float) -> None:
    """Ctrl-C ends the moving, never the work."""
    until = time.monotonic() + seconds
    moving = asyncio.create_task(_move(app, world, until))
    progress = session.out.progress(None)
    try:
        while not moving.done():
            total, finished, failed = await _counted(world)
            progress.update(finished, failed=failed, total=total)
            await asyncio.wait([moving], timeout=_LOOK_SECONDS)
        await moving
        total, finished, failed = await _counted(world)
        progress.end(finished, failed=failed)
    except asyncio.CancelledError:
        progress.detach()
        session.out.say("Not moving it any more; what was stored goes on. The same command moves it again.")
        raise
    finally:
        moving.cancel()
        await asyncio.gather(moving, return_exceptions=True)


async def _move(app: "Penstock", world: World, until: float) -> None:
    from penstock.extensions.articles.shared import ArticleSearch

    search = ArticleSearch(app)
    number = int(time.time()) % 1_000_000
    try:
        while time.monotonic() < until:
            found = await world.jobs(RECEIPTS)
            job, owner = (found[0].id, found[0].owner) if found else (None, OWNER)
            for _ in range(_RECEIPTS):
                number += 1
                await app.enqueue("send_receipt", {"order": number}, owner=owner, job_id=job)
            await _rewrite(search)
            await asyncio.sleep(min(_EVERY_SECONDS, max(0.0, until - time.monotonic())))
    finally:
        await search.close()


async def _rewrite(search: Any) -> None:
    """One of the articles that have rested longest gets a line more; its chip goes from stale to indexed."""
    from penstock.extensions.articles import articles, writing

    async with search.app.connection() as connection:
        found = await articles.page(connection, viewer=None, owner=OWNER, limit=_ARTICLES)
        if not found:
            return
        article = await articles.get(connection, random.choice(found).slug)
    if article is not None:
        line = f"Looked at again on {time.strftime('%A at %H:%M:%S')}."
        change = writing.Change(
            content=f"{article.content.rpartition('Looked at again')[0] or article.content}\n\n{line}"
        )
        await writing.update(search, article.slug, change, by=OWNER)


async def _counted(world: World) -> tuple[int, int, int]:
    """Total, finished and failed of everything that is the demonstration's."""
    counts = [view.counts for view in await world.jobs()]
    return sum(one.total for one in counts), sum(one.finished for one in counts), sum(one.error for one in counts)
