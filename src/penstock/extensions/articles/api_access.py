"""What the routes of articles share: parameters, the parts of this process, who may see and change which article."""

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from penstock.console.http.actor import Actor
from penstock.console.http.ground import Ground
from penstock.console.http.parameters import LONGEST_NAME, STORABLE, Moment
from penstock.console.http.problems import Problem, not_found
from penstock.extensions.articles import articles
from penstock.extensions.articles.articles import Article, Visibility
from penstock.extensions.articles.shared import ArticleSearch

Slug = Annotated[
    str, Path(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE, description="As the article was answered.")
]
Author = Annotated[
    str | None, Query(max_length=LONGEST_NAME, pattern=STORABLE, description="Only articles of this user.")
]
Since = Annotated[Moment | None, Query(description="Only articles changed at this time or later.")]
Until = Annotated[Moment | None, Query(description="Only articles changed before this time.")]


async def _parts(request: Request) -> ArticleSearch:
    found: ArticleSearch = request.app.state.article_search
    return found


Parts = Annotated[ArticleSearch, Depends(_parts)]


def viewer_of(actor: Actor) -> str | None:
    """None: an admin, who sees everything."""
    return None if actor.is_admin else actor.name


async def _visible(ground: Ground, actor: Actor, slug: str) -> Article:
    """What is somebody else's and private is not there, except for admins."""
    async with ground.app.connection() as connection:
        found = await articles.get(connection, slug)
    if found is None or not found.visible_to(viewer_of(actor)):
        raise not_found(f"article {slug!r}")
    return found


async def article_seen(ground: Ground, actor: Actor, slug: str) -> Article:
    """An admin's look at what is private is noted."""
    found = await _visible(ground, actor, slug)
    if found.owner != actor.name and found.visibility is Visibility.PRIVATE:
        await ground.note_look(actor.entry("article.look", kind="article", object=slug, owner=found.owner))
    return found


async def require_writable(ground: Ground, actor: Actor, slug: str) -> None:
    """Shared means that others read it, no more."""
    found = await _visible(ground, actor, slug)
    if found.owner != actor.name and not actor.is_admin:
        raise Problem(
            403,
            f"Article {slug!r} belongs to {found.owner}, who shares it for reading; only they and admins change it.",
        )
