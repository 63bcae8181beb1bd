"""`penstock articles show` and `revisions`"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.articles_ground import SlugArgument, ViewerOption, article_of, as_data, opened
from penstock.cli.command import command
from penstock.cli.output import Column, shown
from penstock.cli.pages import LimitOption, show_page
from penstock.cli.readable import clean, fields, short
from penstock.cli.session import Session

if TYPE_CHECKING:
    from penstock.apps.article_search.article import Article, Revision
    from penstock.apps.article_search.shared import ArticleSearch
    from penstock.apps.article_search.standing import Standing

RevisionOption = Annotated[int | None, typer.Option("--revision", min=1, help="An earlier text.")]
TextOption = Annotated[bool, typer.Option("--text", help="The bare text and nothing else, for a pipe.")]
AfterOption = Annotated[int | None, typer.Option("--after", metavar="NUMBER", help="Where the page before ended.")]
_REVISIONS = (
    Column(key="revision", title="revision", right=True, show=str),
    Column(key="created_at", title="saved"),
    Column(key="author", title="by", show=lambda value: short(value, 30)),
    Column(key="title", title="title", show=lambda value: short(value, 50)),
    Column(key="message", title="message", show=lambda value: short(value, 60) or "–"),
)


def register(app: typer.Typer) -> None:
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
        after: AfterOption = None,
        owner: ViewerOption = None,
    ) -> None:
        """Every text an article had, newest first; `show --revision` prints one."""
        from penstock.apps.article_search import articles

        async with opened(session) as search:
            found = await article_of(search, slug, owner)
            async with search.app.connection() as connection:
                page = await articles.revisions(
                    connection, found.id, before=after, since=_first_seen(found, owner), limit=limit
                )
        rows = [_revision_data(one) for one in page]
        first = _first_seen(found, owner)
        more = str(page[-1].revision) if len(page) == limit and page[-1].revision > first else None
        show_page(session, rows, more, _REVISIONS, empty="There are no earlier ones.")


def _first_seen(article: "Article", viewer: str | None) -> int:
    """Who shared an article did not share what it said before."""
    return 1 if viewer in (None, article.owner) else article.shared_from or article.revision


async def revision_of(
    search: "ArticleSearch", article: "Article", number: int, viewer: str | None = None
) -> "Revision":
    """What ``viewer`` may not see is not there."""
    from penstock.apps.article_search import articles
    from penstock.errors import NotKnown

    async with search.app.connection() as connection:
        found = await articles.revision(connection, article.id, number)
    if found is None or number < _first_seen(article, viewer):
        raise NotKnown(kind=f"revision of {article.slug}", name=str(number))
    return found


def _print_text(session: Session, content: str) -> None:
    """In a pipe exactly what is stored; on a terminal nothing stored may move the cursor."""
    stdout = session.out.stdout
    stdout.write(f"{clean(content)}\n" if stdout.isatty() else content)
    stdout.flush()


def _revision_data(revision: "Revision") -> dict[str, Any]:
    return {name: value for name, value in asdict(revision).items() if name != "content"}


def _show_revision(session: Session, article: "Article", revision: "Revision") -> None:
    pairs = {
        "article": article.slug,
        "revision": f"{revision.revision} of {article.revision}, {shown(revision.created_at)} by {revision.author}",
        "title": revision.title,
        **({"message": revision.message} if revision.message else {}),
    }
    data = {"slug": article.slug, **_revision_data(revision), "content": revision.content}
    session.out.show(data, _text(pairs, revision.content))


async def _show(session: Session, search: "ArticleSearch", article: "Article") -> None:
    standing = await _standing(search, article)
    pairs = {
        "article": f"{article.slug} (number {article.id})",
        "title": article.title,
        "revision": f"{article.revision}, {shown(article.updated_at)} by {article.author}",
        "owner": f"{article.owner}, {article.visibility.value}",
        **({"message": article.message} if article.message else {}),
        **({"source": article.source} if article.source else {}),
        "index": _indexed(standing),
    }
    embedding = {name: value for name, value in asdict(standing).items() if name != "article_id"}
    data = {**as_data(article), "content": article.content, "embedding": embedding}
    session.out.show(data, _text(pairs, article.content))


async def _standing(search: "ArticleSearch", article: "Article") -> "Standing":
    from penstock.apps.article_search import articles, generations
    from penstock.apps.article_search.standing import standings

    async with search.app.connection() as connection:
        summaries = await articles.by_ids(connection, [article.id])
        found = await standings(connection, summaries, await generations.active(connection))
    return found[article.id]


def _indexed(standing: "Standing") -> str:
    task = f", task {standing.task_id} is {standing.status}" if standing.task_id is not None else ""
    return f"{standing.chip}{task}"


def _text(pairs: dict[str, str], content: str) -> str:
    return fields({name: clean(value) for name, value in pairs.items()}) + f"\n\n{clean(content)}"
