"""`penstock articles generations`, `queries` and `embedders`: build an index beside the one in use, compare both on
saved queries, switch, roll back, drop."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.errors import NotKnown, UsageError
from penstock.extensions.articles import articles, building, comparing, generations
from penstock.extensions.articles.commands.context import (
    ByOption,
    actor_of,
    explained,
    given,
    opened,
    pending_of_job,
    room,
)
from penstock.extensions.articles.comparing import Comparison
from penstock.extensions.articles.filling import needs_a_person
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import BUILD
from penstock.extensions.articles.shared import ArticleSearch
from penstock.insight.task_views import TaskFilter, page
from penstock.lifecycle import State
from penstock.terminal.command import accept_global_options, command
from penstock.terminal.groups import WholeSentences, new_app
from penstock.terminal.output import Column
from penstock.terminal.pages import YesOption, confirmed
from penstock.terminal.readable import clean, short
from penstock.terminal.session import Session

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the new one is called.")]
WhichArgument = Annotated[str, typer.Argument(metavar="NAME|ID", help="As `generations list` shows it.")]
WithArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME|ID]", help="Compared with this one; otherwise the active one.")
]
EmbedderOption = Annotated[str, typer.Option("--embedder", help="As `articles embedders` names it.")]
SizeOption = Annotated[int, typer.Option("--chunk-characters", help="Longest passage.")]
OverlapOption = Annotated[int, typer.Option("--overlap", help="What a passage repeats of the one before, at most.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Until it is ready.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Articles per query.")]
_LOOK_SECONDS = 0.5
_COMPARED = (
    Column(key="query", title="query", show=lambda value: short(value, 50)),
    Column(key="overlap", title="overlap", right=True, show=lambda value: f"{value:.0%}"),
    Column(key="moved", title="moved", right=True, show=lambda value: f"{len(value):,}"),
    Column(key="found", title="expected found", right=True),
    Column(key="ndcg", title="nDCG", right=True),
    Column(key="ms", title="ms", right=True),
)
QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="The words that somebody would search for.")]
ExpectOption = Annotated[
    list[str] | None, typer.Option("--expect", metavar="SLUG", help="An article that should come; may be repeated.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Also where an expected article is not there yet.")]
OwnerOption = Annotated[str, typer.Option("--owner", help="The user whose query it will be.")]
WhoseOption = Annotated[str | None, typer.Option("--owner", help="Only those of this user; otherwise everybody's.")]
FileArgument = Annotated[
    str,
    typer.Argument(metavar="FILE|-", help="One query per line; behind a tab, expected slugs with commas between."),
]
IdArgument = Annotated[int, typer.Argument(metavar="ID", min=1, help="As `articles queries list` shows it.")]
EMPTY = "No queries yet. `penstock articles queries add 'some words'` saves one."
_QUERY_COLUMNS = (
    Column(key="id", title="id", right=True),
    Column(key="query", title="query", show=lambda value: short(value, 70)),
    Column(key="expected", title="expected", show=lambda value: short(", ".join(value), 60) or "–"),
    Column(key="owner", title="owner"),
)
ProbeOption = Annotated[bool, typer.Option("--probe/--no-probe", help="Have each of them embed one short text.")]
_EMBEDDER_COLUMNS = (
    Column(key="name", title="name"),
    Column(key="kind", title="kind"),
    Column(key="model", title="model"),
    Column(key="dimensions", title="dimensions", right=True, show=lambda value: f"{value:,}" if value else "–"),
    Column(key="host", title="host", show=lambda value: clean(value or "") or "–"),
    Column(
        key="took_ms", title="answered in", right=True, show=lambda value: "–" if value is None else f"{value:g} ms"
    ),
    Column(key="problem", title="problem", show=lambda value: clean(value or "") or "–"),
)


def register(app: typer.Typer) -> None:
    _register_generations(app)
    _register_queries(app)
    _register_embedders(app)


def _register_generations(app: typer.Typer) -> None:
    group = new_app(help="Indexes by other models or with other chunks, beside the one in use.", cls=WholeSentences)
    accept_global_options(group)
    app.add_typer(group, name="generations")

    @command(group, "list")
    async def listing(session: Session) -> None:
        """Every generation, also those that were dropped."""
        async with session.connection() as connection:
            found = await generations.listing(connection)
        session.out.table([asdict(one) for one in found], _columns(session))

    @command(group)
    async def build(
        session: Session,
        name: NameArgument,
        embedder: EmbedderOption = "builtin",
        chunk_characters: SizeOption = 700,
        overlap: OverlapOption = 100,
        wait: WaitOption = False,
        owner: ByOption = None,
    ) -> int:
        """Fill a new generation in the background. Searches do not use it before `switch`."""
        async with opened(session) as search:
            made = await building.build(
                search,
                name=name,
                embedder=embedder,
                chunk_characters=chunk_characters,
                overlap=overlap,
                by=actor_of(owner),
            )
            job = "" if made.job_id is None else f" Job {made.job_id} fills it: `penstock jobs show {made.job_id}`."
            if not wait:
                session.out.show(asdict(made), f"{_is_in(made)}{job}")
                return 0
            session.out.say(f"{_is_in(made)}{job} Waiting until it is ready; Ctrl-C only ends this wait.")
            made = await _until_ready(session, search, made)
        note = f" {clean(made.note)}" if made.note else ""
        session.out.show(asdict(made), f"{_is_in(made)}{note}")
        return 0 if made.state.value in ("ready", "active", "standby") else 1

    @command(group)
    async def compare(
        session: Session, which: WhichArgument, other: WithArgument = None, limit: LimitOption = 10
    ) -> None:
        """Ask both the saved queries: what both find, what moves, what is found that should be."""
        async with opened(session) as search:
            b, a = await _named(search, which), await _named(search, other)
            line = session.out.progress(None)
            found = await comparing.compare(
                search, a, b, limit=limit, told=lambda done, total: line.update(done, total=total)
            )
            line.detach()
        _show_comparison(session, found)

    @command(group)
    async def switch(session: Session, which: WhichArgument, owner: ByOption = None) -> None:
        """Searches use it from now on; the one before stays and is kept up to date."""
        async with opened(session) as search:
            made = await building.switch(search, (await _named(search, which)).id, by=actor_of(owner))
        session.out.show(
            asdict(made), f"Searches use {made.name}. `penstock articles generations roll-back` takes it back."
        )

    @command(group, "roll-back")
    async def roll_back(session: Session, owner: ByOption = None) -> None:
        """Back to the generation that was used before."""
        async with opened(session) as search:
            made = await building.roll_back(search, by=actor_of(owner))
        session.out.show(asdict(made), f"Searches use {made.name} again.")

    @command(group)
    async def drop(session: Session, which: WhichArgument, yes: YesOption = False, owner: ByOption = None) -> None:
        """Give one up: nothing is embedded for it any more, and its vectors are removed a little later."""
        async with opened(session) as search:
            found = await _named(search, which)
            confirmed(session, f"Drop generation {found.name!r} and its vectors?", yes=yes)
            made = await building.drop(search, found.id, by=actor_of(owner))
        session.out.show(asdict(made), f"Generation {made.name} is dropped.")


async def _named(search: ArticleSearch, which: str | None) -> Generation:
    async with search.app.connection() as connection:
        return await generations.named(connection, which)


async def _until_ready(session: Session, search: ArticleSearch, made: Generation) -> Generation:
    """Or until a person is needed. Ctrl-C leaves the build alone."""
    told, looked_at = None, made

    async def waited_for() -> int | None:
        if (task_id := await pending_of_job(search.app, looked_at.job_id)) is not None:
            return task_id
        # A generation of no articles has no job; the task that makes it ready waits all the same.
        rows = (await page(search.app, TaskFilter(pipeline=BUILD, state=State.PENDING), limit=1)).rows
        return next((row.task_id for row in rows), None)

    async with explained(session, search.app, waited_for):
        while looked_at.state.value == "building":
            if looked_at.note and looked_at.note != told:
                told = looked_at.note
                if needs_a_person(told):
                    break
                session.out.say(clean(told))
            await asyncio.sleep(_LOOK_SECONDS)
            async with search.app.connection() as connection:
                looked_at = await generations.get(connection, made.id) or looked_at
    return looked_at


def _is_in(made: Generation) -> str:
    return f"Generation {made.id} ({made.name}) is {made.state}."


def _columns(session: Session) -> tuple[Column, ...]:
    return (
        Column(key="id", title="id", right=True),
        Column(key="name", title="name", show=lambda value: short(value, room(session, 30))),
        Column(key="state", title="state"),
        Column(key="embedder", title="embedder"),
        Column(key="model", title="model", show=lambda value: short(value, room(session, 40))),
        Column(key="dimensions", title="dimensions", right=True),
        Column(key="chunker", title="chunks"),
        Column(key="job_id", title="job", right=True),
        Column(key="note", title="note", show=lambda value: short(value or "–", room(session, 90))),
    )


def _show_comparison(session: Session, found: Comparison) -> None:
    if session.out.json:
        session.out.emit(asdict(found))
        return
    rows = [
        {
            "query": one.query,
            "overlap": one.overlap,
            "moved": one.moved,
            "found": _both(one.expected_found_a, one.expected_found_b, one.expected),
            "ndcg": _both(_two(one.ndcg_a), _two(one.ndcg_b), one.expected),
            "ms": f"{one.ms_a:.0f} → {one.ms_b:.0f}",
        }
        for one in found.queries
    ]
    session.out.table(rows, _COMPARED, empty="No saved queries yet: `penstock articles queries add 'some words'`.")
    whole = found.totals
    if whole.queries:
        parts = [f"{whole.queries:,} queries, {found.a.name} → {found.b.name}: overlap {whole.overlap:.0%}"]
        parts += [f"nDCG {_two(whole.ndcg_a)} → {_two(whole.ndcg_b)}"] if whole.expected else []
        parts += [f"median {whole.ms_a:.0f} → {whole.ms_b:.0f} ms"]
        session.out.say(", ".join(parts) + ".")
    if notices := {one.notice for one in found.queries if one.notice}:
        session.out.warn(" ".join(sorted(notices)))


def _both(a: object, b: object, expected: tuple[str, ...]) -> str:
    return f"{a} → {b}" if expected else "–"


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _register_queries(app: typer.Typer) -> None:
    group = new_app(help="Saved queries, on which generations are compared.", cls=WholeSentences)
    accept_global_options(group)
    app.add_typer(group, name="queries")

    @command(group)
    async def add(
        session: Session,
        query: QueryArgument,
        expect: ExpectOption = None,
        owner: OwnerOption = "admin",
        force: ForceOption = False,
    ) -> None:
        """Save a query. The same one again changes what is expected of it."""
        async with session.connection() as connection:
            if not force:
                await _require_articles(connection, expect or [])
            made = await comparing.save_query(connection, owner=owner, query=query, expected=expect or [])
        session.out.show(asdict(made), f"Query {made.id} is saved.")

    @command(group, "import")
    async def import_file(session: Session, file: FileArgument, owner: OwnerOption = "admin") -> None:
        """Save every line of a file. Queries that are there keep what is expected of them."""
        try:
            text = given(file).decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{file} is not text in UTF-8. Save it as UTF-8 and import it again.") from None
        read = comparing.read_lines(text)
        async with session.connection() as connection:
            added = await comparing.save_missing(connection, owner=owner, given=read)
        there = len(read) - added
        session.out.show(
            {"added": added, "already_there": there}, f"{added:,} queries are saved, {there:,} were there before."
        )

    @command(group, "list")
    async def listing(session: Session, owner: WhoseOption = None) -> None:
        """The saved queries, oldest first."""
        async with session.connection() as connection:
            found = await comparing.saved_queries(connection, owner=owner)
        session.out.table([asdict(one) for one in found], _QUERY_COLUMNS, empty=EMPTY)

    @command(group)
    async def remove(session: Session, query_id: IdArgument) -> None:
        """Forget a query."""
        async with session.connection() as connection:
            gone = await comparing.forget_query(connection, query_id)
        if not gone:
            raise NotKnown(kind="saved query", name=str(query_id))
        session.out.show({"id": query_id, "removed": True}, f"Query {query_id} is removed.")


async def _require_articles(connection: Any, slugs: Sequence[str]) -> None:
    """A mistyped slug would look like an article that no generation ever finds."""
    for slug in slugs:
        if await articles.get(connection, slug) is None:
            raise UsageError(
                f"There is no article {slug[:100]!r} to be expected. `penstock articles list` shows the slugs; --force "
                "saves the query all the same."
            )


def _register_embedders(app: typer.Typer) -> None:
    @command(app)
    async def embedders(session: Session, probe: ProbeOption = True) -> int:
        """The embedders of this machine's configuration; each is tried with one short text. Exit code 1: one of them
        has a problem."""
        from penstock.extensions.articles.embedders.registry import Embedders

        known = Embedders(await session.app())
        try:
            views = known.listing()
            if probe:
                views = [await known.probe(one.name) if one.problem is None else one for one in views]
        finally:
            await known.close()
        session.out.table([asdict(view) for view in views], _EMBEDDER_COLUMNS, empty="No embedders.")
        return 1 if any(view.problem is not None for view in views) else 0
