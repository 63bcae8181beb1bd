"""`penstock articles list`, `show` and `revisions`"""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.errors import NotKnown, UsageError
from penstock.extensions.articles import articles, generations
from penstock.extensions.articles.articles import Article, Place, RevisionDetail, Summary
from penstock.extensions.articles.commands.context import (
    SlugArgument,
    ViewerOption,
    article_of,
    as_data,
    opened,
    room,
    unknown_user,
)
from penstock.extensions.articles.embedding_tasks import EmbeddingStatus, embedding_statuses
from penstock.extensions.articles.shared import ArticleSearch
from penstock.insight import task_views
from penstock.terminal.command import command
from penstock.terminal.output import Column, shown
from penstock.terminal.pages import AfterOption, LimitOption, place_of, show_page, written
from penstock.terminal.readable import clean, fields, short
from penstock.terminal.session import Session

AuthorOption = Annotated[str | None, typer.Option("--author", help="Only articles of this user.")]
RevisionOption = Annotated[int | None, typer.Option("--revision", min=1, help="An earlier text.")]
TextOption = Annotated[bool, typer.Option("--text", help="The bare text and nothing else, for a pipe.")]
NumberOption = Annotated[int | None, typer.Option("--after", metavar="NUMBER", help="Where the page before ended.")]
NONE_YET = (
    "No articles yet. `penstock articles add FILE` saves one; `penstock articles sample-folder` writes some to try."
)
_REVISIONS = (
    Column(key="revision", title="revision", right=True, show=str),
    Column(key="created_at", title="saved"),
    Column(key="author", title="by", show=lambda value: short(value, 30)),
    Column(key="title", title="title", show=lambda value: short(value, 50)),
    Column(key="message", title="message", show=lambda value: short(value, 60) or "–"),
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
        place = _place(after)
        async with opened(session) as search:
            async with search.app.connection() as connection:
                found = await articles.page(connection, viewer=owner, owner=author, after=place, limit=limit + 1)
                page = found[:limit]
                seen = await embedding_statuses(connection, page, await generations.active(connection))
            unknown = None if page else await unknown_user(search, owner, author)
        last = page[-1] if len(found) > limit else None
        following = None if last is None else written(task_views.Place(task_id=last.id, at=last.updated_at))
        empty = unknown or (NONE_YET if owner is None and author is None else "None that may be seen here.")
        show_page(session, [_row(one, seen[one.id]) for one in page], following, _columns(session), empty=empty)

    @command(app)
    async def show(
        session: Session,
        slug: SlugArgument,
        revision: RevisionOption = None,
        text: TextOption = False,
        owner: ViewerOption = None,
    ) -> None:
        """An article with its text, and what a search knows of it."""
        async with opened(session) as search:
            found = await article_of(search, slug, owner)
            if text and not session.out.json:
                number = revision or found.revision
                _print_text(session, (await revision_of(search, found, number, owner)).content)
            elif revision is not None:
                _show_revision(session, found, await revision_of(search, found, revision, owner))
            else:
                await _show(session, search, found)

    @command(app)
    async def revisions(
        session: Session,
        slug: SlugArgument,
        limit: LimitOption = 20,
        after: NumberOption = None,
        owner: ViewerOption = None,
    ) -> None:
        """Every text an article had, newest first; `show --revision` prints one."""
        async with opened(session) as search:
            found = await article_of(search, slug, owner)
            async with search.app.connection() as connection:
                page = await articles.revisions(connection, found, viewer=owner, before=after, limit=limit)
        more = str(page[-1].revision) if len(page) == limit and page[-1].revision > found.first_seen(owner) else None
        show_page(session, [asdict(one) for one in page], more, _REVISIONS, empty="There are no earlier ones.")


def _place(after: str | None) -> Place | None:
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


def _row(article: Summary, status: EmbeddingStatus) -> dict[str, Any]:
    row = asdict(article) | {"chip": status.chip, "status": status.status}
    del row["shared_from"]
    return row


async def revision_of(
    search: ArticleSearch, article: Article, number: int, viewer: str | None = None
) -> RevisionDetail:
    """What ``viewer`` may not see is not there."""
    async with search.app.connection() as connection:
        found = await articles.revision(connection, article, number, viewer=viewer)
    if found is None:
        raise NotKnown(kind=f"revision of {article.slug}", name=str(number))
    return found


def _print_text(session: Session, content: str) -> None:
    """In a pipe exactly what is stored; on a terminal nothing stored may move the cursor."""
    stdout = session.out.stdout
    stdout.write(f"{clean(content)}\n" if stdout.isatty() else content)
    stdout.flush()


def _show_revision(session: Session, article: Article, revision: RevisionDetail) -> None:
    pairs = {
        "article": article.slug,
        "revision": f"{revision.revision} of {article.revision}, {shown(revision.created_at)} by {revision.author}",
        "title": revision.title,
        **({"message": revision.message} if revision.message else {}),
    }
    session.out.show({"slug": article.slug, **asdict(revision)}, _text(pairs, revision.content))


async def _show(session: Session, search: ArticleSearch, article: Article) -> None:
    async with search.app.connection() as connection:
        active = await generations.active(connection)
        status = (await embedding_statuses(connection, [article], active))[article.id]
    task = f", task {status.task_id} is {status.status}" if status.task_id is not None else ""
    pairs = {
        "article": f"{article.slug} (number {article.id})",
        "title": article.title,
        "revision": f"{article.revision}, {shown(article.updated_at)} by {article.author}",
        "owner": f"{article.owner}, {article.visibility.value}",
        **({"message": article.message} if article.message else {}),
        **({"source": article.source} if article.source else {}),
        "index": f"{status.chip}{task}",
    }
    data = {**as_data(article), "content": article.content, "embedding": asdict(status)}
    session.out.show(data, _text(pairs, article.content))


def _text(pairs: dict[str, str], content: str) -> str:
    return fields({name: clean(value) for name, value in pairs.items()}) + f"\n\n{clean(content)}"
