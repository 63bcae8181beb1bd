"""`penstock articles search` and `penstock articles similar`"""

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from penstock.errors import UsageError
from penstock.extensions.articles.commands.context import SlugArgument, ViewerOption, article_of, opened, unknown_user
from penstock.extensions.articles.commands.show import NONE_YET, AuthorOption
from penstock.extensions.articles.coverage import Coverage
from penstock.terminal.command import command
from penstock.terminal.output import shown
from penstock.terminal.readable import clean, short
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.extensions.articles.fusion import Score
    from penstock.extensions.articles.question import Answer, Hit, Mode, Question

QueryArgument = Annotated[list[str], typer.Argument(metavar="QUERY…", help="What to find, in your own words.")]
ModeOption = Annotated[str, typer.Option("--mode", help="hybrid: meaning and words; semantic or keyword: one of them.")]
HitsOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many at most.")]
AfterOption = Annotated[
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
        after: AfterOption = 0,
        author: AuthorOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        owner: ViewerOption = None,
        explain: ExplainOption = False,
    ) -> None:
        """Find articles by meaning and by words. What is not embedded yet is found by its words and marked so."""
        from penstock.extensions.articles import searching
        from penstock.extensions.articles.question import Question

        question = Question(
            text=" ".join(query),
            mode=_mode(mode),
            viewer=owner,
            author=author,
            since=_moment("--since", since),
            until=_moment("--until", until),
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


def _moment(name: str, text: str | None) -> datetime | None:
    """A day or a time; without a zone it is local."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(f"{name} {text[:50]!r} is no time. Write it like 2026-11-15 or 2026-11-15T09:30.") from None


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
    return {
        "mode": answer.mode,
        "asked_mode": answer.asked_mode,
        "notice": answer.notice,
        "items": [_hit_data(hit) for hit in answer.hits],
        "next": answer.next,
        "coverage": asdict(answer.coverage),
        "took_ms": answer.took_ms,
    }


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
