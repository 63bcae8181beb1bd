"""`GET /api/articles` and those that one knows already: lists of articles with where each stands in the index."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request

from penstock.apps.article_search import articles, generations
from penstock.apps.article_search.api_ground import sees_tasks
from penstock.apps.article_search.article import Summary, Visibility
from penstock.apps.article_search.articles import Place
from penstock.apps.article_search.shapes import article_body
from penstock.apps.article_search.standing import standings
from penstock.apps.article_search.wire import ArticleBody, ArticlePage, ArticlesNow, Author
from penstock.service.actor import Actor, Viewer
from penstock.service.ground import Ground, ground_of
from penstock.service.ownership import whose
from penstock.service.parameters import LONGEST_NAME, STORABLE, After, Before, PageSize, UserId
from penstock.service.problems import Problem, documented

router = APIRouter(prefix="/api", tags=["articles"], responses=documented())
_MOST_NOW = 200
Slugs = Annotated[
    list[Annotated[str, Query(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]],
    Query(alias="slug", min_length=1, max_length=_MOST_NOW, description="Of each article, at most 200."),
]


@router.get("/articles", operation_id="listArticles")
async def list_articles(
    request: Request,
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
    ground = ground_of(request)
    everything = whose(actor, user_id) is None
    query = ("articles", user_id, author)
    behind, ahead = (None if one is None else _place(ground, actor, query, one) for one in (after, before))
    async with ground.app.connection() as connection:
        found = await articles.page(
            connection,
            viewer=None if everything else actor.name,
            owner=author,
            after=behind,
            before=ahead,
            limit=page_size + 1,
        )
    if everything:
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
async def articles_now(request: Request, actor: Viewer, slugs: Slugs) -> ArticlesNow:
    """Articles that one knows already, as they are now. What is gone, or not for one's eyes, is left out."""
    ground = ground_of(request)
    async with ground.app.connection() as connection:
        found = await articles.by_slugs(connection, slugs, viewer=None if actor.is_admin else actor.name)
    if any(one.owner != actor.name and one.visibility is Visibility.PRIVATE for one in found):
        await ground.note_look(actor.entry("articles.look_at_all", kind="article"))
    return ArticlesNow(items=await _bodies(ground, actor, found))


async def _bodies(ground: Ground, actor: Actor, page: list[Summary]) -> list[ArticleBody]:
    async with ground.app.connection() as connection:
        seen = await standings(connection, page, await generations.active(connection))
    return [article_body(one, seen[one.id], whole=sees_tasks(actor, one.owner)) for one in page]


def _place(ground: Ground, actor: Actor, query: tuple[object, ...], cursor: str) -> Place:
    at, article = ground.cursors.take(actor.name, query, cursor)
    assert isinstance(at, datetime)
    assert isinstance(article, int)
    return at, article
