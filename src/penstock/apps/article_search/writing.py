"""Creating, changing and deleting an article: the article and its embedding tasks in one transaction.

Nothing here waits for an embedding. Each save has a task of its own for each generation that is kept up to date; a
task that finds a newer revision has nothing to do. So quick edits cost one embedding, and none falls between two tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from penstock import EnqueueOptions
from penstock.apps.article_search import articles, generations
from penstock.apps.article_search.article import Article, Operation, Visibility
from penstock.apps.article_search.articles import Text
from penstock.apps.article_search.checking import check_priority, check_text
from penstock.apps.article_search.indexing.order import Order
from penstock.apps.article_search.names import PIPELINE
from penstock.apps.article_search.slugs import numbered, slug_of
from penstock.apps.article_search.trouble import category_of
from penstock.engine.acting import By
from penstock.errors import NotKnown, PenstockError
from penstock.storage import audit

if TYPE_CHECKING:
    from penstock.apps.article_search.shared import ArticleSearch

Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArticle:
    """``source``: where an import found it; ``author``: who wrote this revision. ``enforced``: the visibility is meant
    for an article that is there already, too."""

    title: str
    content: str
    owner: str
    author: str
    message: str | None = None
    visibility: Visibility = Visibility.PRIVATE
    enforced: bool = False
    source: str | None = None
    skip_embedding: bool = False
    priority: str = "normal"


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


def digest_of(title: str, content: str) -> bytes:
    """What an embedding depends on."""
    return sha256(f"{len(title)}\n{title}\n{content}".encode()).digest()


async def create(search: "ArticleSearch", new: NewArticle, *, noted: By | None = None) -> Saved:
    """``noted``: who is written into the audit log, with what they did; here and below."""
    check_text(search.app.settings, new.title, new.content, new.message)
    check_priority(new.priority)
    async with search.app.connection() as connection, connection.transaction():
        article = await _insert(search, connection, new)
        tasks = await _finish(search, connection, article, Operation.CREATE, new.priority, new.skip_embedding)
        await _note(connection, noted, "create", article)
    return await _saved(search, article, tasks, Operation.CREATE, created=True, skipped=new.skip_embedding)


async def update(search: "ArticleSearch", slug: str, change: Change, *, by: str, noted: By | None = None) -> Saved:
    """Raises ArticleChanged where ``change.revision`` is not the current one."""
    check_priority(change.priority)
    async with search.app.connection() as connection, connection.transaction():
        locked = await _locked(connection, slug)
        before = locked.article
        if change.revision is not None and change.revision != before.revision:
            raise ArticleChanged(before, change.revision)
        title = before.title if change.title is None else change.title
        content = before.content if change.content is None else change.content
        visibility = change.visibility or before.visibility
        check_text(search.app.settings, title, content, change.message)
        if digest_of(title, content) == locked.digest:
            if visibility != before.visibility:
                before = await _shown_to(connection, before, visibility)
                await _note(connection, noted, "update", before)
            return Saved(article=before, created=False, changed=False)
        article = replace(
            before, title=title, content=content, visibility=visibility, revision=before.revision + 1, author=by
        )
        article = replace(article, message=change.message, updated_at=await _revise(search, connection, article))
        article = replace(article, shared_from=_shared_from(article))
        tasks = await _finish(search, connection, article, Operation.UPDATE, change.priority, change.skip_embedding)
        await _note(connection, noted, "update", article)
    return await _saved(search, article, tasks, Operation.UPDATE, created=False, skipped=change.skip_embedding)


async def delete(search: "ArticleSearch", slug: str, *, by: str, noted: By | None = None) -> int:
    """How many revisions there were. It cannot be found any more from now on; a task removes its vectors."""
    async with search.app.connection() as connection, connection.transaction():
        article = (await _locked(connection, slug)).article
        await articles.delete(connection, article.id)
        await _note(connection, noted, "delete", article)
        order = Order(article=article.id, revision=None, generation=None, operation=Operation.DELETE)
        tasks = []
        if search.app.settings.articles_enabled:
            tasks.append(await enqueue(search, connection, order, owner=article.owner, priority="normal"))
    search.app.events.emit("articles.deleted", article=article.id, slug=slug, by=by, tasks=tasks)
    if not tasks:
        await in_request(search, [order])
    return article.revision


async def enqueue(search: "ArticleSearch", connection: Connection, order: Order, *, owner: str, priority: str) -> int:
    """One embedding task, in the transaction that is open on ``connection``."""
    pipeline = search.app.pipelines[PIPELINE]
    options = EnqueueOptions(priority=priority, owner=owner)
    return (await search.app.store(pipeline, order.as_input(), options, connection)).id


async def _insert(search: "ArticleSearch", connection: Connection, new: NewArticle) -> Article:
    base = slug_of(new.title)
    while True:
        slug = numbered(base, await articles.take_slug(connection, base))
        stored = await articles.insert(
            connection,
            slug=slug,
            title=new.title,
            content=new.content,
            owner=new.owner,
            visibility=new.visibility,
            source=new.source,
            language=search.app.settings.articles_language,
        )
        if stored is not None:
            break
    return Article(
        id=stored.id,
        slug=slug,
        title=new.title,
        content=new.content,
        revision=1,
        owner=new.owner,
        visibility=new.visibility,
        shared_from=1 if new.visibility is Visibility.SHARED else None,
        source=new.source,
        message=new.message,
        author=new.author,
        task_id=None,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
    )


async def _revise(search: "ArticleSearch", connection: Connection, article: Article) -> Any:
    return await articles.revise(
        connection,
        article.id,
        title=article.title,
        content=article.content,
        visibility=article.visibility,
        revision=article.revision,
        language=search.app.settings.articles_language,
    )


async def _finish(
    search: "ArticleSearch", connection: Connection, article: Article, operation: Operation, priority: str, skip: bool
) -> tuple[int, ...]:
    """Its tasks, the active generation's first, and the revision that names it."""
    tasks: list[int] = []
    if search.app.settings.articles_enabled and not skip:
        for order in await _orders(connection, article, operation):
            # The active generation comes first; what nobody searches yet must not hold it up.
            chosen = "low" if tasks else priority
            tasks.append(await enqueue(search, connection, order, owner=article.owner, priority=chosen))
    text = Text(
        article_id=article.id,
        revision=article.revision,
        title=article.title,
        content=article.content,
        message=article.message,
        author=article.author,
        digest=digest_of(article.title, article.content),
    )
    await articles.append_revision(connection, text, tasks[0] if tasks else None)
    return tuple(tasks)


async def _orders(connection: Connection, article: Article, operation: Operation) -> list[Order]:
    return [
        Order(article=article.id, revision=article.revision, generation=generation.id, operation=operation)
        for generation in await generations.live(connection)
    ]


async def _saved(
    search: "ArticleSearch",
    article: Article,
    tasks: tuple[int, ...],
    operation: Operation,
    *,
    created: bool,
    skipped: bool,
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
    note = None
    if not search.app.settings.articles_enabled and not skipped:
        async with search.app.connection() as connection:
            orders = await _orders(connection, article, operation)
        note = next(iter(await in_request(search, orders)), None)
    article = replace(article, task_id=tasks[0] if tasks else None)
    return Saved(article=article, created=created, changed=True, tasks=tasks, note=note)


async def in_request(search: "ArticleSearch", orders: Sequence[Order]) -> list[str]:
    """The fallback without a queue: embed now. What went wrong is told; what was saved stays saved."""
    notes = []
    for order in orders:
        told: dict[str, Any] = {"article": order.article, "operation": order.operation.value}
        told |= {"revision": order.revision, "generation": order.generation}
        try:
            await search.indexer.carry_out(order)
            search.app.events.emit("articles.embedded", **told)
        except Exception as error:
            search.app.events.emit("articles.failed", **told, category=category_of(error).value, error=str(error)[:500])
            notes.append(f"The article is saved, but was not embedded: {error}")
    return notes


async def _note(connection: Connection, by: By | None, act: str, article: Article) -> None:
    if by is None:
        return
    told = {"revision": article.revision, "visibility": article.visibility.value}
    entry = by.entry(f"article.{act}", kind="article", object=article.slug, owner=article.owner, **told)
    await audit.append(connection, entry)


async def _shown_to(connection: Connection, article: Article, visibility: Visibility) -> Article:
    at = await articles.show_to(connection, [article.id], visibility)
    changed = replace(article, visibility=visibility, updated_at=at or article.updated_at)
    return replace(changed, shared_from=_shared_from(changed))


def _shared_from(article: Article) -> int | None:
    """As the statements that store it compute it."""
    if article.visibility is not Visibility.SHARED:
        return None
    return article.revision if article.shared_from is None else article.shared_from


async def _locked(connection: Connection, slug: str) -> articles.Locked:
    locked = await articles.lock(connection, slug)
    if locked is None:
        raise NotKnown(kind="article", name=slug)
    return locked
