"""`/api/articles/{slug}/revisions`: every text that an article had."""

from typing import cast

from fastapi import APIRouter, Request

from penstock.apps.article_search import articles
from penstock.apps.article_search.api_ground import article_seen, sees_tasks
from penstock.apps.article_search.article import Article
from penstock.apps.article_search.shapes import revision_body, revision_detail
from penstock.apps.article_search.wire import RevisionDetail, RevisionNumber, RevisionPage, Slug
from penstock.service.actor import Actor, Viewer
from penstock.service.ground import ground_of
from penstock.service.parameters import After, PageSize
from penstock.service.problems import documented, not_found

router = APIRouter(prefix="/api/articles", tags=["articles"], responses=documented())


@router.get("/{slug}/revisions", operation_id="listRevisions")
async def list_revisions(
    request: Request, actor: Viewer, slug: Slug, page_size: PageSize = 50, after: After = None
) -> RevisionPage:
    """Newest first, with their messages and without their texts."""
    ground = ground_of(request)
    article = await article_seen(ground, actor, slug)
    query = ("revisions", slug)
    before = None if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    async with ground.app.connection() as connection:
        found = await articles.revisions(
            connection, article.id, before=before, since=_first_seen(actor, article), limit=page_size + 1
        )
    page = found[:page_size]
    last = page[-1].revision if len(found) > page_size else None
    whole = sees_tasks(actor, article.owner)
    return RevisionPage(
        items=[revision_body(one, whole=whole) for one in page],
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last]),
    )


@router.get("/{slug}/revisions/{number}", operation_id="getRevision")
async def get_revision(request: Request, actor: Viewer, slug: Slug, number: RevisionNumber) -> RevisionDetail:
    ground = ground_of(request)
    article = await article_seen(ground, actor, slug)
    async with ground.app.connection() as connection:
        found = await articles.revision(connection, article.id, number)
    if found is None or number < _first_seen(actor, article):
        raise not_found(f"revision {number} of article {slug!r}; the newest is {article.revision}")
    return revision_detail(found, whole=sees_tasks(actor, article.owner))


def _first_seen(actor: Actor, article: Article) -> int:
    """Who shared an article did not share what it said before."""
    return 1 if sees_tasks(actor, article.owner) else article.shared_from or article.revision
