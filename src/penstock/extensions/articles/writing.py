"""Creating, changing and deleting an article: the article and its embedding tasks in one transaction.

Nothing here waits for an embedding. Each save has a task of its own for each generation that is kept up to date; a
task that finds a newer revision has nothing to do. So quick edits cost one embedding, and none falls between two tasks.
Imports write many articles in one transaction; their embedding tasks go into the import's job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from penstock.control.acting import By
from penstock.errors import PayloadTooLarge, PenstockError, UsageError
from penstock.extensions.articles import articles, generations
from penstock.extensions.articles.articles import Article, Known, NewArticle, Operation, Text, Visibility, digest_of
from penstock.extensions.articles.errors import category_of
from penstock.extensions.articles.indexing.order import Order, enqueue, enqueue_many
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch
from penstock.storage import audit

Connection = Any

LONGEST_TITLE = 300
LONGEST_MESSAGE = 500
_PRIORITIES = ("high", "normal", "low")


def check_text(settings: ArticleSettings, title: str, content: str, message: str | None = None) -> None:
    """Refuses before anything is stored, with a sentence that says what to change."""
    if not title.strip():
        raise UsageError("The title is empty; give the article one.")
    if len(title) > LONGEST_TITLE:
        raise UsageError(f"The title has {len(title):,} characters; at most {LONGEST_TITLE} are kept.")
    if message is not None and len(message) > LONGEST_MESSAGE:
        raise UsageError(f"The message has {len(message):,} characters; at most {LONGEST_MESSAGE} are kept.")
    if len(content) > settings.max_characters:
        raise ArticleTooLong(len(content), settings.max_characters)
    for name, text in (("title", title), ("content", content), ("message", message or "")):
        _check_storable(name, text)


def check_priority(priority: str) -> None:
    if priority not in _PRIORITIES:
        raise UsageError(f"The priority {priority[:50]!r} is unknown; use {', '.join(_PRIORITIES)}.")


class ArticleTooLong(PayloadTooLarge):
    def __init__(self, characters: int, most: int) -> None:
        self.size_bytes, self.limit_bytes = characters, most
        UsageError.__init__(
            self,
            f"The text has {characters:,} characters; at most {most:,} are kept. Split it into several articles, or "
            "raise PENSTOCK_ARTICLES_MAX_CHARACTERS.",
        )


def _check_storable(name: str, text: str) -> None:
    place = text.find("\0")
    if place >= 0:
        raise UsageError(f"The {name} has a NUL character at place {place:,}, as files that are no text have.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The {name} has half a character (a lone surrogate) at place {error.start:,}, which cannot be stored."
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """None: as it is. ``revision``: the one that was edited; None: whatever is current."""

    title: str | None = None
    content: str | None = None
    message: str | None = None
    visibility: Visibility | None = None
    skip_embedding: bool = False
    priority: str = "normal"
    revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """``changed``: there is a new revision. ``tasks``: its embeddings. ``note``: what went wrong with an embedding in
    the request; the article is saved all the same."""

    article: Article
    created: bool
    changed: bool
    tasks: tuple[int, ...] = ()
    note: str | None = None


class ArticleChanged(PenstockError):
    """Somebody else saved it meanwhile. ``current`` is what they saved."""

    def __init__(self, current: Article, edited: int) -> None:
        self.current = current
        super().__init__(
            f"The article {current.slug!r} was changed meanwhile: you edited revision {edited}, the current one is "
            f"{current.revision} by {current.author}. Look at it and save yours again."
        )


async def create(search: ArticleSearch, new: NewArticle, *, noted: By | None = None) -> Saved:
    """``noted``: who is written into the audit log, with what they did; here and below."""
    check_text(search.settings, new.title, new.content, new.message)
    check_priority(new.priority)
    async with search.app.connection() as connection, connection.transaction():
        article = await _insert(search, connection, new)
        done = await _finish(search, connection, article, Operation.CREATE, new.priority, new.skip_embedding)
        await _note(connection, noted, "create", article)
    return await _saved(search, article, Operation.CREATE, *done)


async def update(search: ArticleSearch, slug: str, change: Change, *, by: str, noted: By | None = None) -> Saved:
    """Raises ArticleChanged where ``change.revision`` is not the current one."""
    check_priority(change.priority)
    async with search.app.connection() as connection, connection.transaction():
        before, digest = await articles.lock(connection, slug)
        if change.revision is not None and change.revision != before.revision:
            raise ArticleChanged(before, change.revision)
        title = before.title if change.title is None else change.title
        content = before.content if change.content is None else change.content
        visibility = change.visibility or before.visibility
        check_text(search.settings, title, content, change.message)
        if digest_of(title, content) == digest:
            if visibility != before.visibility:
                at = await articles.show_to(connection, [before.id], visibility)
                before = replace(before, visibility=visibility, updated_at=at or before.updated_at)
                before = replace(before, shared_from=_shared_from(before))
                await _note(connection, noted, "update", before)
            return Saved(article=before, created=False, changed=False)
        article = replace(
            before, title=title, content=content, visibility=visibility, revision=before.revision + 1, author=by
        )
        at = await articles.revise(connection, article, search.settings.language)
        article = replace(article, message=change.message, updated_at=at, shared_from=_shared_from(article))
        done = await _finish(search, connection, article, Operation.UPDATE, change.priority, change.skip_embedding)
        await _note(connection, noted, "update", article)
    return await _saved(search, article, Operation.UPDATE, *done)


async def delete(search: ArticleSearch, slug: str, *, by: str, noted: By | None = None) -> int:
    """How many revisions there were. It cannot be found any more from now on; a task removes its vectors."""
    async with search.app.connection() as connection, connection.transaction():
        article, _ = await articles.lock(connection, slug)
        await articles.delete(connection, article.id)
        await _note(connection, noted, "delete", article)
        order = Order(article=article.id, revision=None, generation=None, operation=Operation.DELETE)
        tasks = []
        if search.settings.enabled:
            tasks.append(await enqueue(search.app, connection, order, owner=article.owner, priority="normal"))
    search.app.events.emit("articles.deleted", article=article.id, slug=slug, by=by, tasks=tasks)
    if not tasks:
        await in_request(search, [order])
    return article.revision


async def _insert(search: ArticleSearch, connection: Connection, new: NewArticle) -> Article:
    stored, slug = None, ""
    while stored is None:
        (slug,) = await articles.take_slugs(connection, [new.title])
        stored = (await articles.insert(connection, search.settings.language, [(new, slug)])).get(slug)
    article_id, at = stored
    same = ("title", "content", "owner", "visibility", "source", "message", "author")
    return Article(
        **{name: getattr(new, name) for name in same},
        id=article_id,
        slug=slug,
        revision=1,
        shared_from=1 if new.visibility is Visibility.SHARED else None,
        task_id=None,
        created_at=at,
        updated_at=at,
    )


async def _finish(
    search: ArticleSearch, connection: Connection, article: Article, operation: Operation, priority: str, skip: bool
) -> tuple[tuple[int, ...], list[Order]]:
    """The revision, its tasks, and what is to be embedded in the request, where there is no queue."""
    live = [] if skip else await generations.live(connection)
    orders = [
        Order(article=article.id, revision=article.revision, generation=generation.id, operation=operation)
        for generation in live
    ]
    tasks: list[int] = []
    enabled = search.settings.enabled
    for order in orders if enabled else ():
        # The active generation comes first; what nobody searches yet must not hold it up.
        chosen = "low" if tasks else priority
        tasks.append(await enqueue(search.app, connection, order, owner=article.owner, priority=chosen))
    text = Text.of(article, article.id, article.revision)
    await articles.append_revision(connection, text, tasks[0] if tasks else None)
    return tuple(tasks), [] if enabled else orders


async def _saved(
    search: ArticleSearch, article: Article, operation: Operation, tasks: tuple[int, ...], orders: Sequence[Order]
) -> Saved:
    search.app.events.emit(
        "articles.saved",
        operation=operation.value,
        article=article.id,
        slug=article.slug,
        revision=article.revision,
        by=article.author,
        tasks=list(tasks),
    )
    note = next(iter(await in_request(search, orders)), None)
    article = replace(article, task_id=tasks[0] if tasks else None)
    return Saved(article=article, created=operation is Operation.CREATE, changed=True, tasks=tasks, note=note)


async def in_request(search: ArticleSearch, orders: Sequence[Order]) -> list[str]:
    """The fallback without a queue: embed now. What went wrong is told; what was saved stays saved."""
    notes = []
    for order in orders:
        try:
            await search.indexer.carry_out(order)
            search.app.events.emit("articles.embedded", **order.facts)
        except Exception as error:
            search.app.events.emit(
                "articles.failed", **order.facts, category=category_of(error).value, error=str(error)[:500]
            )
            notes.append(f"The article is saved, but was not embedded: {error}")
    return notes


async def _note(connection: Connection, by: By | None, act: str, article: Article) -> None:
    if by is None:
        return
    told = {"revision": article.revision, "visibility": article.visibility.value}
    entry = by.entry(f"article.{act}", kind="article", object=article.slug, owner=article.owner, **told)
    await audit.append(connection, entry)


def _shared_from(article: Article) -> int | None:
    """As the statements that store it compute it."""
    if article.visibility is not Visibility.SHARED:
        return None
    return article.revision if article.shared_from is None else article.shared_from


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
        created = await _insert_many(search, connection, fresh) if fresh else []
        there = [(new, known[new.source]) for new in news if new.source in known]
        updated = [
            Text.of(new, one.id, one.revision + 1)
            for new, one in there
            if one.digest != digest_of(new.title, new.content)
        ]
        if updated:
            await articles.revise_many(connection, updated, search.settings.language)
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


async def _insert_many(
    search: ArticleSearch, connection: Connection, fresh: Sequence[tuple[NewArticle, str | None]]
) -> list[Text]:
    """Until every one has a slug: a number may be taken by a title that ends in it."""
    stored: list[Text] = []
    placed = [(new, slug) for new, slug in fresh if slug is not None]
    left = [new for new, slug in fresh if slug is None]
    while placed or left:
        placed += zip(left, await articles.take_slugs(connection, [new.title for new in left]), strict=True)
        made = await articles.insert(connection, search.settings.language, placed)
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
    queued = len(orders) if search.settings.enabled else 0
    if queued:
        await enqueue_many(search.app, connection, orders, owner=like.owner, priority=like.priority, job_id=job_id)
    if texts:
        await articles.append_revisions(connection, texts, after_task=before, job_id=job_id, generation=live[0].id)
    return queued, [] if queued else orders


def _short(source: str | None) -> str | None:
    if source is None or len(source) <= _LONGEST_SOURCE:
        return source
    return f"sha256:{sha256(source.encode()).hexdigest()}"
