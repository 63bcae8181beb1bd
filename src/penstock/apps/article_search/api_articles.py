"""`/api/articles`: write and read articles. A save answers as soon as it is stored."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from penstock.apps.article_search import generations, writing
from penstock.apps.article_search.api_ground import (
    article_bytes,
    article_seen,
    article_to_change,
    parts,
    read_body,
    sees_tasks,
)
from penstock.apps.article_search.article import Summary
from penstock.apps.article_search.shapes import article_detail, current_of, saved_body, summary_of
from penstock.apps.article_search.standing import Standing, standings
from penstock.apps.article_search.wire import (
    ArticleDetail,
    ChangeBody,
    DeletedBody,
    NewArticleBody,
    SavedBody,
    Slug,
)
from penstock.service.actor import Operator, Viewer
from penstock.service.bodies import takes
from penstock.service.ground import Ground, ground_of
from penstock.service.problems import Problem, documented

router = APIRouter(prefix="/api/articles", tags=["articles"], responses=documented(409))


def _json(model: type[Any]) -> dict[str, Any]:
    """The routes read their body themselves; this says what is in it."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@router.post(
    "",
    operation_id="createArticle",
    status_code=201,
    openapi_extra=_json(NewArticleBody),
    responses=documented(409, 413, 415),
)
@takes(json=article_bytes)
async def create(request: Request, response: Response, actor: Operator) -> SavedBody:
    """Stored with its embedding task, which a worker takes from there; nothing waits for the embedding."""
    body: NewArticleBody = await read_body(request, NewArticleBody)
    saved = await writing.create(
        parts(request),
        writing.NewArticle(
            title=body.title,
            content=body.content,
            owner=actor.name,
            author=actor.name,
            message=body.message,
            visibility=body.visibility,
            skip_embedding=body.skip_embedding,
            priority=body.embedding_priority,
        ),
        noted=actor.by,
    )
    response.headers["Location"] = f"/api/articles/{quote(saved.article.slug)}"
    ground = ground_of(request)
    return saved_body(saved, await _standing(ground, summary_of(saved.article)))


@router.get("/{slug}", operation_id="getArticle")
async def get_article(request: Request, actor: Viewer, slug: Slug) -> ArticleDetail:
    """The whole text, and where its embedding stands."""
    ground = ground_of(request)
    found = await article_seen(ground, actor, slug)
    return article_detail(found, await _standing(ground, summary_of(found)), whole=sees_tasks(actor, found.owner))


@router.put(
    "/{slug}", operation_id="updateArticle", openapi_extra=_json(ChangeBody), responses=documented(409, 413, 415)
)
@takes(json=article_bytes)
async def update(request: Request, actor: Operator, slug: Slug) -> SavedBody:
    """A new revision, unless nothing differs. 409 where somebody saved since `revision`: `current` is what they wrote,
    and nothing of this request was stored."""
    ground = ground_of(request)
    await article_to_change(ground, actor, slug)
    body: ChangeBody = await read_body(request, ChangeBody)
    change = writing.Change(
        title=body.title,
        content=body.content,
        message=body.message,
        visibility=body.visibility,
        skip_embedding=body.skip_embedding,
        priority=body.embedding_priority,
        revision=body.revision,
    )
    try:
        saved = await writing.update(parts(request), slug, change, by=actor.name, noted=actor.by)
    except writing.ArticleChanged as error:
        raise Problem(409, str(error), current=current_of(error.current)) from None
    return saved_body(saved, await _standing(ground, summary_of(saved.article)))


@router.delete("/{slug}", operation_id="deleteArticle")
async def delete(request: Request, actor: Operator, slug: Slug) -> DeletedBody:
    """Gone at once, with all its revisions; an embedding that comes late is dropped."""
    ground = ground_of(request)
    await article_to_change(ground, actor, slug)
    gone = await writing.delete(parts(request), slug, by=actor.name, noted=actor.by)
    return DeletedBody(slug=slug, revisions=gone)


async def _standing(ground: Ground, article: Summary) -> Standing:
    async with ground.app.connection() as connection:
        seen = await standings(connection, [article], await generations.active(connection))
    return seen[article.id]
