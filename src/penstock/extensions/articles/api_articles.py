"""`/api/articles`: list, write and read articles, and every text they had. A save answers as soon as it is stored."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeVar, cast
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field, StringConstraints

from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.bodies import media_type, takes, validated
from penstock.console.http.ground import Ground, Here
from penstock.console.http.ownership import whose
from penstock.console.http.parameters import COUNTED, LONGEST_NAME, STORABLE, After, Before, Flag, PageSize, UserId
from penstock.console.http.problems import Problem, documented, not_found
from penstock.console.http.wire import Wire
from penstock.extensions.articles import articles, generations, writing
from penstock.extensions.articles.api_access import Author, Parts, Slug, article_seen, require_writable, viewer_of
from penstock.extensions.articles.articles import Article, Place, Revision, RevisionDetail, Summary, Visibility
from penstock.extensions.articles.embedding_tasks import EmbeddingStatus, embedding_statuses
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.writing import LONGEST_MESSAGE, LONGEST_TITLE

MOST_REVISION = 2**31 - 1
Priority = Literal["high", "normal", "low"]

RevisionNumber = Annotated[int, Path(alias="number", ge=1, le=MOST_REVISION)]

Title = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TITLE, pattern=STORABLE)]
# How long it may be is a setting: the store refuses a longer one with the limit in the sentence.
Content = Annotated[str, StringConstraints(pattern=STORABLE)]
Message = Annotated[str, StringConstraints(max_length=LONGEST_MESSAGE, pattern=STORABLE)]


class _Save(Wire):
    """How the text of a save is embedded."""

    message: Message | None = Field(None, description="Kept with the revision: what was changed, and why.")
    skip_embedding: Flag = Field(False, description="Store it without an embedding task; it is found by its words.")
    embedding_priority: Priority = "normal"

    def values(self) -> dict[str, Any]:
        """As the records of ``writing`` take them."""
        values = self.model_dump()
        return values | {"priority": values.pop("embedding_priority")}


class NewArticleBody(_Save):
    title: Title
    content: Content
    visibility: Visibility = Field(Visibility.PRIVATE, description="`shared`: every user reads and finds it.")


class ChangeBody(_Save):
    """What is left out stays as it is."""

    title: Title | None = None
    content: Content | None = None
    visibility: Visibility | None = None
    revision: Annotated[int, Field(ge=1, le=MOST_REVISION), COUNTED] | None = Field(
        None, description="The one that was edited: if there is a newer one, 409. Left out: the newest is replaced."
    )


class ArticleBody(Wire):
    """`author`: whose article it is."""

    slug: str
    title: str
    revision: int
    author: str
    visibility: Visibility
    created_at: datetime
    updated_at: datetime
    embedding: EmbeddingStatus

    @classmethod
    def of(cls, article: Summary, status: EmbeddingStatus, actor: Actor, **more: Any) -> Self:
        """As this actor may see it. ``more``: what the article itself has not."""
        seen = status if sees_tasks(actor, article) else status.without_task()
        return cls.from_record(article, author=article.owner, embedding=seen, **more)


def sees_tasks(actor: Actor, article: Summary) -> bool:
    """Whether the embedding tasks of an article, and what went wrong with them, are this actor's business."""
    return actor.is_admin or actor.name == article.owner


class ArticlePage(Wire):
    """`startCursor` and `endCursor` are at its ends, for `before` and `after`; null only of an empty page. Those of the
    neighbours are null where there was nothing more that way."""

    items: list[ArticleBody]
    next_cursor: str | None
    previous_cursor: str | None
    start_cursor: str | None
    end_cursor: str | None


class ArticlesNow(Wire):
    items: list[ArticleBody]


class ArticleDetail(ArticleBody):
    """`editedBy`, `message`: of the current revision. `source`: where an import found it."""

    content: str
    edited_by: str
    message: str | None
    source: str | None


class SavedBody(ArticleBody):
    """`changed` is false where the text was the same already. `note`: what is particular about this save."""

    changed: bool
    task_ids: list[int] = Field(description="Embedding tasks of this save, one per generation that is kept up to date.")
    note: str | None


class DeletedBody(Wire):
    slug: str
    revisions: int = Field(description="How many texts went with it.")


class RevisionPage(Wire):
    items: list[Revision]
    next_cursor: str | None


router = APIRouter(prefix="/api", tags=["articles"], responses=documented())
_WRITES = documented(409)
_WRITES_A_TEXT = documented(409, 413, 415)
_MOST_NOW = 200
# Of a request with an article: a character may come as `\u00e9`, and beside the text there is little. What is far too
# long is refused while it comes.
_takes_a_text = takes(json=lambda settings: settings.of(ArticleSettings).max_characters * 6 + 64 * 1024)
_Text = TypeVar("_Text", bound=Revision)
Slugs = Annotated[
    list[Annotated[str, Query(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]],
    Query(alias="slug", min_length=1, max_length=_MOST_NOW, description="Of each article, at most 200."),
]


def _json(model: type[Any]) -> dict[str, Any]:
    """The routes read their body themselves; this says what is in it."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.get("/articles", operation_id="listArticles")
async def list_articles(
    ground: Here,
    actor: Viewer,
    page_size: PageSize = 50,
    after: After = None,
    before: Before = None,
    author: Author = None,
    user_id: UserId = "me",
) -> ArticlePage:
    """One's own and shared ones, the newest change first. Pages go on in both directions."""
    if after is not None and before is not None:
        raise Problem(400, "A page is `after` one cursor or `before` one, not both.")
    viewer = whose(actor, user_id)
    query = ("articles", user_id, author)
    taken = (None if one is None else ground.cursors.take(actor.name, query, one) for one in (after, before))
    behind, ahead = (None if one is None else cast("Place", tuple(one)) for one in taken)
    async with ground.app.connection() as connection:
        found = await articles.page(
            connection, viewer=viewer, owner=author, after=behind, before=ahead, limit=page_size + 1
        )
    if viewer is None:
        await ground.note_look(actor.entry("articles.look_at_all", kind="article"))
    more = len(found) > page_size
    page = found[-page_size:] if ahead else found[:page_size]

    def cursor(row: Summary | None) -> str | None:
        return None if row is None else ground.cursors.give(actor.name, query, [row.updated_at, row.id])

    first, last = (page[0], page[-1]) if page else (None, None)
    return ArticlePage(
        items=await _bodies(ground, actor, page),
        next_cursor=cursor(last) if more or ahead else None,
        previous_cursor=cursor(first) if (more if ahead else behind) else None,
        start_cursor=cursor(first),
        end_cursor=cursor(last),
    )


@router.get("/articles-now", operation_id="articlesNow")
async def articles_now(ground: Here, actor: Viewer, slugs: Slugs) -> ArticlesNow:
    """Articles that one knows already, as they are now. What is gone, or not for one's eyes, is left out."""
    async with ground.app.connection() as connection:
        found = await articles.by_slugs(connection, slugs, viewer=viewer_of(actor))
    if any(one.owner != actor.name and one.visibility is Visibility.PRIVATE for one in found):
        await ground.note_look(actor.entry("articles.look_at_all", kind="article"))
    return ArticlesNow(items=await _bodies(ground, actor, found))


@router.post(
    "/articles",
    operation_id="createArticle",
    status_code=201,
    openapi_extra=_json(NewArticleBody),
    responses=_WRITES_A_TEXT,
)
@_takes_a_text
async def create(request: Request, response: Response, ground: Here, parts: Parts, actor: Operator) -> SavedBody:
    """Stored with its embedding task, which a worker takes from there; nothing waits for the embedding."""
    body: NewArticleBody = await _read_body(request, NewArticleBody)
    new = articles.NewArticle(**body.values(), owner=actor.name, author=actor.name)
    saved = await writing.create(parts, new, noted=actor.by)
    response.headers["Location"] = f"/api/articles/{quote(saved.article.slug)}"
    return await _saved(ground, actor, saved)


@router.get("/articles/{slug}", operation_id="getArticle", responses=_WRITES)
async def get_article(ground: Here, actor: Viewer, slug: Slug) -> ArticleDetail:
    """The whole text, and where its embedding stands."""
    found = await article_seen(ground, actor, slug)
    status = (await _statuses(ground, [found]))[found.id]
    return ArticleDetail.of(found, status, actor, edited_by=found.author)


@router.put("/articles/{slug}", operation_id="updateArticle", openapi_extra=_json(ChangeBody), responses=_WRITES_A_TEXT)
@_takes_a_text
async def update(request: Request, ground: Here, parts: Parts, actor: Operator, slug: Slug) -> SavedBody:
    """A new revision, unless nothing differs. 409 where somebody saved since `revision`: `current` is what they wrote,
    and nothing of this request was stored."""
    await require_writable(ground, actor, slug)
    body: ChangeBody = await _read_body(request, ChangeBody)
    change = writing.Change(**body.values())
    try:
        saved = await writing.update(parts, slug, change, by=actor.name, noted=actor.by)
    except writing.ArticleChanged as error:
        now = error.current
        current = {"revision": now.revision, "title": now.title, "content": now.content, "author": now.author}
        raise Problem(409, str(error), current=current | {"updatedAt": now.updated_at.isoformat()}) from None
    return await _saved(ground, actor, saved)


@router.delete("/articles/{slug}", operation_id="deleteArticle", responses=_WRITES)
async def delete(ground: Here, parts: Parts, actor: Operator, slug: Slug) -> DeletedBody:
    """Gone at once, with all its revisions; an embedding that comes late is dropped."""
    await require_writable(ground, actor, slug)
    gone = await writing.delete(parts, slug, by=actor.name, noted=actor.by)
    return DeletedBody(slug=slug, revisions=gone)


@router.get("/articles/{slug}/revisions", operation_id="listRevisions")
async def list_revisions(
    ground: Here, actor: Viewer, slug: Slug, page_size: PageSize = 50, after: After = None
) -> RevisionPage:
    """Newest first, with their messages and without their texts."""
    article = await article_seen(ground, actor, slug)
    listed = ground.listing(actor.name, "revisions", slug)
    viewer, before = viewer_of(actor), listed.behind(after)
    async with ground.app.connection() as connection:
        found = await articles.revisions(connection, article, viewer=viewer, before=before, limit=page_size + 1)
    page, following = listed.page(found, page_size, lambda one: one.revision)
    return RevisionPage(items=[_visible(one, actor, article) for one in page], next_cursor=following)


@router.get("/articles/{slug}/revisions/{number}", operation_id="getRevision")
async def get_revision(ground: Here, actor: Viewer, slug: Slug, number: RevisionNumber) -> RevisionDetail:
    article = await article_seen(ground, actor, slug)
    async with ground.app.connection() as connection:
        found = await articles.revision(connection, article, number, viewer=viewer_of(actor))
    if found is None:
        raise not_found(f"revision {number} of article {slug!r}; the newest is {article.revision}")
    return _visible(found, actor, article)


def _visible(revision: _Text, actor: Actor, article: Article) -> _Text:
    return revision if sees_tasks(actor, article) else replace(revision, task_id=None)


async def _statuses(ground: Ground, page: Sequence[Summary]) -> dict[int, EmbeddingStatus]:
    async with ground.app.connection() as connection:
        return await embedding_statuses(connection, page, await generations.active(connection))


async def _bodies(ground: Ground, actor: Actor, page: Sequence[Summary]) -> list[ArticleBody]:
    seen = await _statuses(ground, page)
    return [ArticleBody.of(one, seen[one.id], actor) for one in page]


async def _saved(ground: Ground, actor: Actor, saved: writing.Saved) -> SavedBody:
    status = (await _statuses(ground, [saved.article]))[saved.article.id]
    tasks = list(saved.tasks)
    return SavedBody.of(saved.article, status, actor, changed=saved.changed, task_ids=tasks, note=saved.note)


async def _read_body(request: Request, model: type[Any]) -> Any:
    """JSON, checked like the bodies of other routes. Its route is one that ``_takes_a_text``."""
    if media_type(request.headers.get("content-type", "")) != "application/json":
        raise Problem(415, "Send the article as application/json, with `title` and `content`.")
    data = await request.body()
    try:
        given = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _not_json(data, str(error)) from None
    if not isinstance(given, dict):
        raise Problem(422, 'body: it has to be an object, such as {"title": "…", "content": "…"}.')
    return validated(model, given)


def _not_json(data: bytes, problem: str) -> Problem:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return Problem(400, f"The body is not UTF-8: byte {error.start:,} does not fit. Send JSON as UTF-8.")
    if "surrogate" in problem:
        return Problem(
            422, f"body: it holds half a character ({problem}). Escapes of \\ud800 to \\udfff come in pairs."
        )
    return Problem(400, f"The body is not JSON: {problem}.")
