"""`penstock articles search`, `similar`, `list`, `show` and `revisions`"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from penstock.errors import NotKnown, UsageError
from penstock.extensions.articles import articles, generations
from penstock.extensions.articles.articles import Article, Place, RevisionDetail, Summary
from penstock.extensions.articles.commands.context import (
    SlugArgument,
    ViewerOption,
    article_of,
    as_data,
    moment,
    opened,
    room,
    unknown_user,
)
from penstock.extensions.articles.embedding_tasks import EmbeddingStatus, embedding_statuses
from penstock.extensions.articles.shared import ArticleSearch
from penstock.extensions.articles.statistics import Coverage
from penstock.insight import task_views
from penstock.terminal.command import command
from penstock.terminal.output import Column, shown
from penstock.terminal.pages import AfterOption, LimitOption, place_of, show_page, written
from penstock.terminal.readable import clean, fields, short
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.extensions.articles.fusion import Score
    from penstock.extensions.articles.searching import Answer, Hit, Mode, Question

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


QueryArgument = Annotated[list[str], typer.Argument(metavar="QUERY…", help="What to find, in your own words.")]
ModeOption = Annotated[str, typer.Option("--mode", help="hybrid: meaning and words; semantic or keyword: one of them.")]
HitsOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many at most.")]
HitsAfterOption = Annotated[
    int, typer.Option("--after", min=0, max=1000, help="Leave out so many, as the page before said.")
]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Changed then or later: 2026-11-15.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Changed before: 2026-11-15T09:30.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Where each place comes from.")]
_NOTHING_LIKE_IT = "No other article that may be seen here comes near to this one."
_MODES = ("hybrid", "semantic", "keyword")
_CHIP_STYLES = {"indexed": "green", "stale": "yellow", "waiting": "cyan", "failed": "red", "missing": "magenta"}


def register(app: typer.Typer) -> None:
    @command(app)
    async def search(
        session: Session,
        query: QueryArgument,
        mode: ModeOption = "hybrid",
        limit: HitsOption = 10,
        after: HitsAfterOption = 0,
        author: AuthorOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        owner: ViewerOption = None,
        explain: ExplainOption = False,
    ) -> None:
        """Find articles by meaning and by words. What is not embedded yet is found by its words and marked so."""
        from penstock.extensions.articles import searching
        from penstock.extensions.articles.searching import Question

        question = Question(
            text=" ".join(query),
            mode=_mode(mode),
            viewer=owner,
            author=author,
            since=moment("--since", since, local=True),
            until=moment("--until", until, local=True),
            limit=limit,
            after=after,
        )
        async with opened(session) as parts:
            answer = await searching.search(parts, question)
            unknown = None if answer.hits else await unknown_user(parts, author, owner)
        _show(session, answer, explain=explain, first=after + 1, nothing=unknown or _nothing(question, answer))

    @command(app)
    async def similar(
        session: Session,
        slug: SlugArgument,
        limit: HitsOption = 10,
        owner: ViewerOption = None,
        explain: ExplainOption = False,
    ) -> None:
        """Articles that come near to this one in meaning."""
        from penstock.extensions.articles import searching

        async with opened(session) as parts:
            article = await article_of(parts, slug, owner)
            answer = await searching.similar(parts, article, owner, limit)
            unknown = None if answer.hits else await unknown_user(parts, owner)
        _show(session, answer, explain=explain, first=1, nothing=unknown or _NOTHING_LIKE_IT)

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
                await _show_article(session, search, found)

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


def _nothing(question: "Question", answer: "Answer") -> str:
    """What to do when nothing was found, for this question and this stock of articles."""
    if not answer.coverage.total:
        return NONE_YET
    if question.after:
        return "There is nothing more: the page before was the last."
    if question.author or question.since or question.until:
        return "Nothing was found within --author, --since and --until as given. Widen them, or try other words."
    if answer.mode == "semantic":
        return "No article comes near to that in meaning. Try other words, or --mode hybrid, which takes words as well."
    if question.mode == "keyword":
        return "No article has these words. Try others, or --mode hybrid, which searches by meaning as well."
    if answer.mode == "keyword":
        return "No article has these words, and none could be searched by meaning. `penstock articles coverage`"
    return "Nothing was found, neither by meaning nor by words. Try other words."


def _mode(mode: str) -> "Mode":
    if mode not in _MODES:
        raise UsageError(f"The mode {mode[:50]!r} is unknown. Use {', '.join(_MODES)}.")
    return cast("Mode", mode)


def _show(session: Session, answer: "Answer", *, explain: bool, first: int, nothing: str) -> None:
    out = session.out
    if answer.notice:
        out.warn(clean(answer.notice))
    if out.json:
        out.emit(_data(answer))
        return
    if answer.hits:
        _print(session, answer, explain=explain, first=first)
    else:
        out.say(clean(nothing))
    out.say(_covered(answer.coverage))
    if answer.next is not None:
        out.say(f"There is more: add --after {answer.next}.")


def _print(session: Session, answer: "Answer", *, explain: bool, first: int) -> None:
    """On a terminal in colour and wrapped; elsewhere every passage is one line."""
    from rich.console import Console
    from rich.padding import Padding

    stdout = session.out.stdout
    if not stdout.isatty():
        for number, hit in enumerate(answer.hits, start=first):
            lines = [_heading(number, hit), *([_explained(hit.score)] if explain else []), _passage(hit)]
            stdout.write("\n".join(line.plain for line in lines if line.plain) + "\n\n")
        stdout.flush()
        return
    console = Console(file=stdout, highlight=False, markup=False)
    for number, hit in enumerate(answer.hits, start=first):
        console.print(_heading(number, hit))
        if explain:
            console.print(Padding(_explained(hit.score), (0, 0, 0, 4)))
        console.print(Padding(_passage(hit), (0, 0, 1, 4)))


def _heading(number: int, hit: "Hit") -> "Text":
    from rich.text import Text

    line = Text(f"{number:>2}. ", style="dim")
    line.append(short(hit.title, 200), style="bold")
    line.append(f"  {hit.slug}", style="dim")
    line.append(f"  {hit.chip}", style=_CHIP_STYLES.get(hit.chip, ""))
    line.append(f"  {hit.score.fused:.4f}", style="dim")
    return line


def _passage(hit: "Hit") -> "Text":
    """Made safe piece by piece, because that may change lengths, and the marks count characters."""
    from rich.text import Text

    text, place = Text(), 0
    for start, end in sorted((one.from_, one.to) for one in hit.passage.marks):
        text.append(_on_one_line(hit.passage.text[place:start]))
        text.append(_on_one_line(hit.passage.text[max(start, place) : end]), style="bold yellow")
        place = max(end, place)
    text.append(_on_one_line(hit.passage.text[place:]))
    return text


def _on_one_line(text: str) -> str:
    return clean(text.replace("\r", " ").replace("\n", " ").replace("\t", " "))


def _explained(score: "Score") -> "Text":
    from rich.text import Text

    parts = [f"fused {score.fused:.4f}"]
    if score.semantic is None:
        parts.append("meaning: not among the nearest")
    else:
        parts.append(f"meaning: place {score.semantic.rank}, similarity {score.semantic.similarity:.3f}")
    if score.keyword is None:
        parts.append("words: none of them")
    else:
        parts.append(f"words: place {score.keyword.rank}, {score.keyword.score:.3f}")
    return Text(" · ".join(parts), style="dim")


def _covered(coverage: Coverage) -> str:
    return (
        f"{coverage.indexed:,} of {coverage.total:,} articles are indexed, {coverage.stale:,} stale, "
        f"{coverage.pending:,} pending (generation {clean(coverage.generation)}, {shown(coverage.as_of)})"
    )


def _data(answer: "Answer") -> dict[str, Any]:
    data = asdict(answer) | {"items": [_hit_data(hit) for hit in answer.hits]}
    del data["hits"]
    return data


def _hit_data(hit: "Hit") -> dict[str, Any]:
    """The score is flat here, and nested in the API."""
    semantic, keyword = hit.score.semantic, hit.score.keyword
    score = {
        "fused": hit.score.fused,
        "semantic_rank": semantic and semantic.rank,
        "similarity": semantic and semantic.similarity,
        "keyword_rank": keyword and keyword.rank,
        "keyword": keyword and keyword.score,
    }
    marks = [{"from": one.from_, "to": one.to} for one in hit.passage.marks]
    return asdict(hit) | {"score": score, "passage": asdict(hit.passage) | {"marks": marks}}


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


async def _show_article(session: Session, search: ArticleSearch, article: Article) -> None:
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
