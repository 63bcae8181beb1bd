"""What the commands of `penstock articles` stand on: the parts of the application, options, texts as given,
and what is said while a command waits for embeddings and nothing moves."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.application import Penstock
from penstock.console.people import accounts
from penstock.control.acting import By
from penstock.errors import NotKnown, PenstockError, UsageError
from penstock.extensions.articles import articles
from penstock.extensions.articles.articles import Article
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.shared import ArticleSearch
from penstock.insight.task_views import TaskFilter, page
from penstock.insight.why import Reason, Why, explain
from penstock.lifecycle import State
from penstock.terminal.errors import Refused
from penstock.terminal.owners import require_owner
from penstock.terminal.pages import on_terminal
from penstock.terminal.readable import clean
from penstock.terminal.served import BUILT_IN
from penstock.terminal.session import Session

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
# Most embeddings are through by then; whoever waits longer wants to know why.
PATIENCE_SECONDS = 3.0
_LOOK_SECONDS = 2.0
# Those that a person may want to do something about. That others are before it is told by the progress.
_TOLD = frozenset(
    {
        "worker_lost",
        "stage_paused",
        "job_paused",
        "lane_paused",
        "retry",
        "throttled",
        "no_worker",
        "limiter",
        "not_announced",
        "overlooked",
    }
)


@asynccontextmanager
async def opened(session: Session) -> AsyncIterator[ArticleSearch]:
    """Over the user's own application, or over all that ships with Penstock."""
    app = await session.serving_app()
    if PIPELINE not in app.pipelines:
        raise UsageError(
            f"The application {app.name!r} has no article search. Install it there with "
            "`app.install(penstock.extensions.articles.extension)`, or leave --app and PENSTOCK_APP out."
        )
    search = ArticleSearch(app)
    try:
        yield search
    finally:
        await search.close()


async def unknown_user(search: ArticleSearch, *names: str | None) -> str | None:
    """A sentence, where one of them does not exist: a mistyped name finds nothing, and looks like an empty shelf."""
    for name in names:
        try:
            if name is not None:
                await accounts.require_user(search.app, name)
        except NotKnown as error:
            return f"{error} `penstock users list` shows who is there."
    return None


async def article_of(search: ArticleSearch, slug: str, viewer: str | None = None) -> Article:
    """What ``viewer`` may not see is not there. Logs and tasks name articles by number: one will do where no slug is
    like it."""
    async with search.app.connection() as connection:
        found = await articles.get(connection, slug)
        if found is None and slug.isascii() and slug.isdigit() and int(slug) < 2**63:
            for one in await articles.by_ids(connection, [int(slug)]):
                found = await articles.get(connection, one.slug)
    if found is None or not found.visible_to(viewer):
        raise NotKnown(kind="article", name=slug)
    return found


async def article_to_change(search: ArticleSearch, slug: str, by: str | None) -> Article:
    """Shared means that others read it, no more. Whoever may use the database and names no user may change all."""
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


def moment(option: str, text: str | None, *, local: bool = False) -> datetime | None:
    """A day or a time. Without a zone it is UTC, as everything that is stored, or ``local``."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        if local:
            return at.astimezone()
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{option} {text[:50]!r} is no time. Write it like 2026-11-15 or 2026-11-15T09:30.") from None


def room(session: Session, characters: int) -> int:
    """How long a text in a table may be: on a terminal a line, elsewhere whatever it is."""
    return characters if session.out.stdout.isatty() else sys.maxsize


def as_data(article: Article) -> dict[str, Any]:
    """Without its id, which nobody needs, and its text, which is long."""
    return {name: value for name, value in asdict(article).items() if name not in ("id", "content", "shared_from")}


@asynccontextmanager
async def explained(
    session: Session,
    app: Penstock,
    unfinished: Callable[[], Awaitable[int | None]],
    *,
    stopped: str | None = None,
    before: Callable[[], object] = lambda: None,
) -> AsyncIterator[None]:
    """While the body waits. ``unfinished``: a task that it waits for; ``stopped``: the remark of Ctrl-C, which ends the
    waiting alone; ``before`` is called before each remark, to leave a line that moves."""
    telling = asyncio.create_task(_tell(session, app, unfinished, before))
    try:
        yield
    except asyncio.CancelledError:
        before()
        if stopped is not None:
            session.out.say(stopped)
        raise
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def pending_of_job(app: Penstock, job_id: int | None) -> int | None:
    """One of its tasks that waits; the one that is due first."""
    if job_id is None:
        return None
    rows = (await page(app, TaskFilter(job_id=job_id, state=State.PENDING), limit=1)).rows
    return next((row.task_id for row in rows), None)


async def _tell(
    session: Session,
    app: Penstock,
    unfinished: Callable[[], Awaitable[int | None]],
    before: Callable[[], object],
) -> None:
    """Each reason once."""
    told: set[str] = set()
    await asyncio.sleep(PATIENCE_SECONDS)
    while True:
        with suppress(PenstockError):  # it is gone, or the database is: the wait itself says so
            task_id = await unfinished()
            if task_id is not None:
                async with app.connection() as connection:
                    why = await explain(connection, task_id)
                if why.reason.value in _TOLD and why.reason.value not in told:
                    told.add(why.reason.value)
                    before()
                    session.out.say(_sentence(session, why))
        await asyncio.sleep(_LOOK_SECONDS)


def _sentence(session: Session, why: Why) -> str:
    if why.reason is Reason.NO_WORKER:
        return (
            "Still waiting: no live worker embeds articles. Start one in another terminal: `penstock up`, or "
            f"`penstock worker --app {session.app_reference or BUILT_IN}`."
        )
    return clean(" ".join(part for part in (f"Still waiting: {why.sentence}", why.next_step) if part))
