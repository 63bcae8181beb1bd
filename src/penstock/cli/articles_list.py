"""`penstock articles list`"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.articles_ground import ViewerOption, opened, room, unknown_user
from penstock.cli.command import command
from penstock.cli.output import Column
from penstock.cli.pages import AfterOption, LimitOption, place_of, show_page, written
from penstock.cli.readable import short
from penstock.cli.session import Session
from penstock.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.apps.article_search.article import Summary
    from penstock.apps.article_search.standing import Standing

AuthorOption = Annotated[str | None, typer.Option("--author", help="Only articles of this user.")]
NONE_YET = (
    "No articles yet. `penstock articles add FILE` saves one; `penstock articles sample-folder` writes some to try."
)


def register(app: typer.Typer) -> None:
    @command(app, "list")
    async def listing(
        session: Session,
        owner: ViewerOption = None,
        author: AuthorOption = None,
        limit: LimitOption = 20,
        after: AfterOption = None,
    ) -> None:
        """Articles, the last changed first, with where each stands in the index."""
        from penstock.apps.article_search import articles, generations
        from penstock.apps.article_search.standing import standings
        from penstock.engine.task_views import Place

        place = _place(after)
        async with opened(session) as search:
            async with search.app.connection() as connection:
                found = await articles.page(connection, viewer=owner, owner=author, after=place, limit=limit + 1)
                page = found[:limit]
                seen = await standings(connection, page, await generations.active(connection))
            unknown = None if page else await unknown_user(search, owner, author)
        last = page[-1] if len(found) > limit else None
        following = None if last is None else written(Place(task_id=last.id, at=last.updated_at))
        empty = unknown or (NONE_YET if owner is None and author is None else "None that may be seen here.")
        show_page(session, [_row(one, seen[one.id]) for one in page], following, _columns(session), empty=empty)


def _place(after: str | None) -> "tuple[datetime, int] | None":
    place = place_of(after)
    if place is None:
        return None
    if place.at is None:
        raise UsageError(f"--after {after!r} is not a place. Use what the page before printed.")
    return place.at, place.task_id


def _columns(session: Session) -> tuple[Column, ...]:
    return (
        Column(key="slug", title="article"),
        Column(key="title", title="title", show=lambda value: short(value, room(session, 50))),
        Column(key="chip", title="index"),
        Column(key="revision", title="revision", right=True, show=str),
        Column(key="owner", title="owner"),
        Column(key="visibility", title="visibility"),
        Column(key="updated_at", title="changed"),
    )


def _row(article: "Summary", standing: "Standing") -> dict[str, Any]:
    return {
        "id": article.id,
        "slug": article.slug,
        "title": article.title,
        "chip": standing.chip,
        "status": standing.status,
        "task_id": article.task_id,
        "revision": article.revision,
        "owner": article.owner,
        "visibility": article.visibility.value,
        "created_at": article.created_at,
        "updated_at": article.updated_at,
    }
