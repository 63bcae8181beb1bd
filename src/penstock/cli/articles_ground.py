"""What the commands of `penstock articles` stand on: the parts of the application, options, and texts as given."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.owners import require_owner
from penstock.cli.pages import on_terminal
from penstock.cli.session import Session
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.apps.article_search.article import Article
    from penstock.apps.article_search.shared import ArticleSearch

SlugArgument = Annotated[
    str, typer.Argument(metavar="SLUG", help="The article, as `articles list` names it; its number will do, too.")
]
FileArgument = Annotated[str | None, typer.Argument(metavar="[FILE|-]", help="Markdown; - is the standard input.")]
OwnerOption = Annotated[str, typer.Option("--owner", help="The user whose articles they will be.")]
ByOption = Annotated[str | None, typer.Option("--owner", help="The user who does it; otherwise your login.")]
ViewerOption = Annotated[str | None, typer.Option("--owner", help="Only what this user may see; otherwise everything.")]
MessageOption = Annotated[str | None, typer.Option("--message", "-m", help="Kept with the revision: why.")]
SkipOption = Annotated[bool, typer.Option("--skip-embedding", help="Found by its words only.")]
PriorityOption = Annotated[str, typer.Option("--priority", help="Of the embedding: high, normal or low.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until the embedding has ended.")]


@asynccontextmanager
async def opened(session: Session) -> "AsyncIterator[ArticleSearch]":
    """Over the user's own application, or over all that ships with Penstock."""
    from penstock.apps.article_search.names import PIPELINE
    from penstock.apps.article_search.shared import ArticleSearch

    app = await session.serving_app()
    if PIPELINE not in app.pipelines:
        raise UsageError(
            f"The application {app.name!r} has no article search. Install it there with "
            "`penstock.apps.article_search.install(app)`, or leave --app and PENSTOCK_APP out."
        )
    search = ArticleSearch(app)
    try:
        yield search
    finally:
        await search.close()


async def unknown_user(search: "ArticleSearch", *names: str | None) -> str | None:
    """A sentence, where one of them does not exist: a mistyped name finds nothing, and looks like an empty shelf."""
    from penstock.engine import accounts
    from penstock.errors import NotKnown

    for name in names:
        try:
            if name is not None:
                await accounts.require_user(search.app, name)
        except NotKnown as error:
            return f"{error} `penstock users list` shows who is there."
    return None


async def article_of(search: "ArticleSearch", slug: str, viewer: str | None = None) -> "Article":
    """What ``viewer`` may not see is not there. Logs and tasks name articles by number: one will do where no slug is
    like it."""
    from penstock.apps.article_search import articles
    from penstock.apps.article_search.article import Visibility
    from penstock.errors import NotKnown

    async with search.app.connection() as connection:
        found = await articles.get(connection, slug)
        if found is None and slug.isascii() and slug.isdigit() and int(slug) < 2**63:
            for one in await articles.by_ids(connection, [int(slug)]):
                found = await articles.get(connection, one.slug)
    if found is None or (viewer not in (None, found.owner) and found.visibility is Visibility.PRIVATE):
        raise NotKnown(kind="article", name=slug)
    return found


async def article_to_change(search: "ArticleSearch", slug: str, by: str | None) -> "Article":
    """Shared means that others read it, no more. Whoever may use the database and names no user may change all."""
    from penstock.cli.errors import Refused

    found = await article_of(search, slug, by)
    if by is not None:
        await require_owner(search.app, by)
        if by != found.owner:
            raise Refused(
                f"The article {found.slug!r} belongs to {found.owner}, who shares it for reading. Leave --owner out to "
                "change it as whoever may use this database.",
                next_command=f"penstock articles show {found.slug}",
            )
    return found


def actor_of(by: str | None) -> str:
    from penstock.engine.acting import By

    return by or By.command_line().actor


def given(file: str | None) -> bytes:
    """The bytes of a file or of the standard input."""
    if file is None and on_terminal():
        raise UsageError("No text was given. Name a FILE, or pipe the text in.")
    if file is None or file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None


def room(session: Session, characters: int) -> int:
    """How long a text in a table may be: on a terminal a line, elsewhere whatever it is."""
    return characters if session.out.stdout.isatty() else sys.maxsize


def as_data(article: "Article") -> dict[str, Any]:
    """Without its id, which nobody needs, and its text, which is long."""
    return {
        "slug": article.slug,
        "title": article.title,
        "revision": article.revision,
        "owner": article.owner,
        "author": article.author,
        "visibility": article.visibility.value,
        "message": article.message,
        "source": article.source,
        "task_id": article.task_id,
        "created_at": article.created_at,
        "updated_at": article.updated_at,
    }
