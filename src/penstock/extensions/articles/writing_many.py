"""Many articles in one transaction, for imports; their embedding tasks go into the import's job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from penstock.extensions.articles import articles, generations
from penstock.extensions.articles.articles import Known, NewArticle, Operation, Text, Visibility, digest_of
from penstock.extensions.articles.indexing.order import Order, enqueue_many
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch

Connection = Any


# What an index can hold of a place where an article came from; longer ones are known by their digest.
_LONGEST_SOURCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ManySaved:
    """Ids in no order. ``unchanged``: how many were there with the same text; ``shown``: how many have another
    visibility now. ``queued``: tasks that were stored.
    ``orders``: what is to be embedded in the request, where there is no queue, once the connection is given back."""

    created: tuple[int, ...]
    updated: tuple[int, ...]
    unchanged: int
    shown: int = 0
    queued: int = 0
    orders: tuple[Order, ...] = ()


async def reserve_slugs(connection: Connection, news: Sequence[NewArticle]) -> dict[int, str]:
    """By place in the list, before the transaction that stores them: within it, whoever saves an article of the same
    title would have to wait for all of them. Those that are there already need none."""
    sources = [source for new in news if (source := _short(new.source)) is not None]
    known = await articles.known_sources(connection, news[0].owner, sources) if sources else set()
    fresh = [place for place, new in enumerate(news) if _short(new.source) not in known]
    return dict(zip(fresh, await articles.take_slugs(connection, [news[place].title for place in fresh]), strict=True))


async def save_many(
    search: ArticleSearch,
    connection: Connection,
    news: Sequence[NewArticle],
    *,
    job_id: int | None,
    slugs: Mapping[int, str] | None = None,
) -> ManySaved:
    """All or none; texts are checked by the caller. All have one owner, priority and wish for embedding. A source comes
    at most once in a call; one that the owner has is updated where its text differs, and queued again where it is not
    indexed and nobody is about to. ``slugs``: as they were reserved."""
    news = [replace(new, source=_short(new.source)) for new in news]
    async with connection.transaction():
        sources = [new.source for new in news if new.source is not None]
        known = await articles.lock_sources(connection, news[0].owner, sources) if sources else {}
        fresh = [(new, (slugs or {}).get(place)) for place, new in enumerate(news) if new.source not in known]
        created = await _insert(search, connection, fresh) if fresh else []
        there = [(new, known[new.source]) for new in news if new.source in known]
        updated = [
            Text.of(new, one.id, one.revision + 1)
            for new, one in there
            if one.digest != digest_of(new.title, new.content)
        ]
        if updated:
            await articles.revise_many(connection, updated, search.app.settings.of(ArticleSettings).language)
        shown = await _show(connection, there)
        left = {one.id for _, one in there} - {text.article_id for text in updated}
        queued, orders = await _queue(search, connection, created, updated, sorted(left), news[0], job_id)
    return ManySaved(
        created=tuple(text.article_id for text in created),
        updated=tuple(text.article_id for text in updated),
        unchanged=len(left),
        shown=shown,
        queued=queued,
        orders=tuple(orders),
    )


async def _insert(
    search: ArticleSearch, connection: Connection, fresh: Sequence[tuple[NewArticle, str | None]]
) -> list[Text]:
    """Until every one has a slug: a number may be taken by a title that ends in it."""
    stored: list[Text] = []
    placed = [(new, slug) for new, slug in fresh if slug is not None]
    left = [new for new, slug in fresh if slug is None]
    while placed or left:
        placed += zip(left, await articles.take_slugs(connection, [new.title for new in left]), strict=True)
        made = await articles.insert(connection, search.app.settings.of(ArticleSettings).language, placed)
        stored += [Text.of(new, made[slug][0], 1) for new, slug in placed if slug in made]
        left = [new for new, slug in placed if slug not in made]
        placed = []
    return stored


async def _show(connection: Connection, there: Sequence[tuple[NewArticle, Known]]) -> int:
    """After the new texts are stored: who shares an article shows its newest text, not the one before."""
    count = 0
    for visibility in Visibility:
        ids = [one.id for new, one in there if new.enforced and new.visibility is visibility is not one.visibility]
        if ids:
            await articles.show_to(connection, ids, visibility)
            count += len(ids)
    return count


async def _queue(
    search: ArticleSearch,
    connection: Connection,
    created: Sequence[Text],
    updated: Sequence[Text],
    left: Sequence[int],
    like: NewArticle,
    job_id: int | None,
) -> tuple[int, list[Order]]:
    """Tasks in the job; where there is no queue, what has to be embedded in the request."""
    texts = [*created, *updated]
    live = await generations.live(connection)
    before = await articles.newest_task(connection, job_id)
    orders = [
        Order(article=article, revision=revision, generation=generation.id, operation=operation)
        for generation in ([] if like.skip_embedding else live)
        for article, revision, operation in [
            *[(text.article_id, text.revision, Operation.CREATE) for text in created],
            *[(text.article_id, text.revision, Operation.UPDATE) for text in updated],
            *[(*one, Operation.REINDEX) for one in await articles.unattended(connection, left, generation.id)],
        ]
    ]
    queued = len(orders) if search.app.settings.of(ArticleSettings).enabled else 0
    if queued:
        await enqueue_many(search.app, connection, orders, owner=like.owner, priority=like.priority, job_id=job_id)
    if texts:
        await articles.append_revisions(connection, texts, after_task=before, job_id=job_id, generation=live[0].id)
    return queued, [] if queued else orders


def _short(source: str | None) -> str | None:
    if source is None or len(source) <= _LONGEST_SOURCE:
        return source
    return f"sha256:{sha256(source.encode()).hexdigest()}"
