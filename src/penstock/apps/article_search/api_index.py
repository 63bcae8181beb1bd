"""`/api/article-index`: how much is indexed, its tasks, and the moves that concern all of it."""

from typing import Annotated, cast

from fastapi import APIRouter, Query, Request, Response

from penstock.apps.article_search import embedding_tasks, reindexing, upkeep
from penstock.apps.article_search.api_ground import parts
from penstock.apps.article_search.embedding_tasks import TaskStatus
from penstock.apps.article_search.shapes_index import index_body, task_body
from penstock.apps.article_search.wire_index import (
    ClearBody,
    Cleared,
    IndexBody,
    ReindexAnswer,
    ReindexBody,
    Retried,
    RetryBody,
    TaskPage,
)
from penstock.service.actor import Admin, Viewer
from penstock.service.ground import ground_of
from penstock.service.ownership import whose
from penstock.service.parameters import After, PageSize, UserId
from penstock.service.problems import documented

router = APIRouter(prefix="/api/article-index", tags=["article index"], responses=documented(409))


@router.get("", operation_id="getArticleIndex")
async def get_index(request: Request, actor: Viewer) -> IndexBody:
    """All of it on one screen: coverage, tasks, worker, freshness, generations, open alerts, embedders."""
    return await index_body(parts(request))


@router.get("/tasks", operation_id="listEmbeddingTasks")
async def list_tasks(
    request: Request,
    actor: Viewer,
    status: Annotated[TaskStatus | None, Query(description="Only tasks that stand so.")] = None,
    page_size: PageSize = 50,
    after: After = None,
    user_id: UserId = "me",
) -> TaskPage:
    """Embedding tasks of one's articles, newest first."""
    ground = ground_of(request)
    owner = whose(actor, user_id)
    query = ("embedding-tasks", user_id, status)
    place = None if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    async with ground.app.connection() as connection:
        found = await embedding_tasks.page(connection, owner=owner, status=status, after=place, limit=page_size + 1)
    page = found[:page_size]
    if owner is None:
        await ground.note_look(actor.entry("articles.look_at_tasks", kind="article"))
    last = page[-1].task_id if len(found) > page_size else None
    return TaskPage(
        items=[task_body(one) for one in page],
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last]),
    )


@router.post(
    "/reindex",
    operation_id="reindexArticles",
    status_code=202,
    responses={200: {"model": ReindexAnswer, "description": "A dry run: what it would be."}},
)
async def reindex(request: Request, response: Response, actor: Admin, body: ReindexBody) -> ReindexAnswer:
    """A job of one task per article, with low priority; pause, resume and cancel it like any job."""
    ground = ground_of(request)
    search = parts(request)
    wish = reindexing.Plan(
        scope=body.scope,
        generation=body.generation,
        author=body.author,
        since=body.since,
        until=body.until,
        force=body.force,
    )
    async with ground.app.connection() as connection:
        planned = await reindexing.plan(connection, wish)
    job_id = None
    if body.dry_run:
        response.status_code = 200
    else:
        job_id = await reindexing.start(search, wish, by=actor.name)
        await ground.note(actor.entry("articles.reindex", kind="job", object=job_id, scope=body.scope))
    return ReindexAnswer(
        job_id=job_id,
        articles=planned.articles,
        chunks_estimated=planned.chunks_estimated,
        seconds_estimated=planned.seconds_estimated,
    )


@router.post("/retry-failed", operation_id="retryFailedEmbeddings")
async def retry_failed(request: Request, actor: Admin, body: RetryBody | None = None) -> Retried:
    """Start failed embeddings again, with all their attempts: all, or those of one category."""
    ground = ground_of(request)
    category = None if body is None else body.category
    count = await upkeep.retry_failed(ground.app, category=category, by=actor.name)
    await ground.note(actor.entry("articles.retry_failed", kind="article", category=category, retried=count))
    return Retried(retried=count)


@router.post("/clear", operation_id="clearEmbeddingTasks")
async def clear(request: Request, actor: Admin, body: ClearBody) -> Cleared:
    """Forget completed embedding tasks that ended longer ago. Articles and vectors stay."""
    ground = ground_of(request)
    count = await upkeep.clear_completed(ground.app, body.older_than_days, by=actor.name)
    await ground.note(actor.entry("articles.clear", kind="article", olderThanDays=body.older_than_days, cleared=count))
    return Cleared(cleared=count)
