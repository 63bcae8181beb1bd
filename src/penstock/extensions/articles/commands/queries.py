"""`penstock articles queries`: the queries that generations are compared on."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock.errors import NotKnown, UsageError
from penstock.extensions.articles import articles, saved_queries
from penstock.extensions.articles.commands.context import given
from penstock.terminal.command import accept_global_options, command
from penstock.terminal.groups import WholeSentences, new_app
from penstock.terminal.output import Column
from penstock.terminal.readable import short
from penstock.terminal.session import Session

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
_COLUMNS = (
    Column(key="id", title="id", right=True),
    Column(key="query", title="query", show=lambda value: short(value, 70)),
    Column(key="expected", title="expected", show=lambda value: short(", ".join(value), 60) or "–"),
    Column(key="owner", title="owner"),
)


def register(app: typer.Typer) -> None:
    group = new_app(help="Saved queries, on which generations are compared.", cls=WholeSentences)
    accept_global_options(group)
    _register_adding(group)
    _register_reading(group)
    app.add_typer(group, name="queries")


def _register_adding(group: typer.Typer) -> None:
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
            made = await saved_queries.add(connection, owner=owner, query=query, expected=expect or [])
        session.out.show(asdict(made), f"Query {made.id} is saved.")

    @command(group, "import")
    async def import_file(session: Session, file: FileArgument, owner: OwnerOption = "admin") -> None:
        """Save every line of a file. Queries that are there keep what is expected of them."""
        try:
            text = given(file).decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{file} is not text in UTF-8. Save it as UTF-8 and import it again.") from None
        read = saved_queries.read_lines(text)
        async with session.connection() as connection:
            added = await saved_queries.add_missing(connection, owner=owner, given=read)
        there = len(read) - added
        session.out.show(
            {"added": added, "already_there": there}, f"{added:,} queries are saved, {there:,} were there before."
        )


async def _require_articles(connection: Any, slugs: Sequence[str]) -> None:
    """A mistyped slug would look like an article that no generation ever finds."""
    for slug in slugs:
        if await articles.get(connection, slug) is None:
            raise UsageError(
                f"There is no article {slug[:100]!r} to be expected. `penstock articles list` shows the slugs; --force "
                "saves the query all the same."
            )


def _register_reading(group: typer.Typer) -> None:
    @command(group, "list")
    async def listing(session: Session, owner: WhoseOption = None) -> None:
        """The saved queries, oldest first."""
        async with session.connection() as connection:
            found = await saved_queries.listing(connection, owner=owner)
        session.out.table([asdict(one) for one in found], _COLUMNS, empty=EMPTY)

    @command(group)
    async def remove(session: Session, query_id: IdArgument) -> None:
        """Forget a query."""
        async with session.connection() as connection:
            gone = await saved_queries.remove(connection, query_id)
        if not gone:
            raise NotKnown(kind="saved query", name=str(query_id))
        session.out.show({"id": query_id, "removed": True}, f"Query {query_id} is removed.")
