"""`penstock articles add`"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.articles_ground import (
    FileArgument,
    MessageOption,
    OwnerOption,
    PriorityOption,
    SkipOption,
    WaitOption,
    as_data,
    given,
    opened,
)
from penstock.cli.articles_waiting import explained
from penstock.cli.command import command
from penstock.cli.owners import require_owner
from penstock.cli.readable import clean
from penstock.cli.session import Session
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.apps.article_search.article import Article
    from penstock.apps.article_search.shared import ArticleSearch
    from penstock.apps.article_search.writing import Saved

TitleOption = Annotated[str | None, typer.Option("--title", help="Otherwise the first heading, or the file's name.")]
SharedOption = Annotated[bool, typer.Option("--shared", help="Every user may read and find it.")]
# Generations that nobody searches are embedded last; a search does not wait for them, so nor does a command for long.
_OTHERS_SECONDS = 5.0


def register(app: typer.Typer) -> None:
    @command(app)
    async def add(
        session: Session,
        file: FileArgument = None,
        title: TitleOption = None,
        message: MessageOption = None,
        shared: SharedOption = False,
        skip_embedding: SkipOption = False,
        priority: PriorityOption = "normal",
        owner: OwnerOption = "admin",
        wait: WaitOption = False,
    ) -> int:
        """Save an article. It is found by its words at once, and by its meaning when a worker has embedded it."""
        from penstock.apps.article_search import writing
        from penstock.apps.article_search.article import Visibility

        title, content = text_of(given(file), file, title)
        new = writing.NewArticle(
            title=title,
            content=content,
            owner=owner,
            author=owner,
            message=message,
            visibility=Visibility.SHARED if shared else Visibility.PRIVATE,
            skip_embedding=skip_embedding,
            priority=priority,
        )
        async with opened(session) as search:
            await require_owner(search.app, owner)
            return await tell_saved(session, search, await writing.create(search, new), wait=wait)


def text_of(data: bytes, file: str | None, title: str | None) -> tuple[str, str]:
    """(title, content). With a title given, the text stays as it is."""
    from penstock.apps.article_search.drafts import Refusal, decoded, of_markdown

    if title is not None:
        text = decoded(data, where=file or "the standard input")
        if isinstance(text, Refusal):
            raise UsageError(f"{text.where}: {text.why}")
        _require_text(text, file)
        return title, text
    name = "" if file in (None, "-") else Path(file or "").stem
    found = of_markdown(data, where=file or "the standard input", source="", name=name)
    if isinstance(found, Refusal):
        raise UsageError(f"{found.where}: {found.why}")
    _require_text(found.content, file)
    if not found.title:
        raise UsageError("The text has no heading of level 1 that could be its title. Give one with --title.")
    return found.title, found.content


def _require_text(content: str, file: str | None) -> None:
    """An empty one is mostly a mistake: a pipe that failed, a file that was not saved."""
    from penstock.apps.article_search.drafts import EMPTY

    if not content.strip():
        where = "the standard input" if file in (None, "-") else file
        raise UsageError(f"{where}: {EMPTY} Nothing was saved.")


async def tell_saved(
    session: Session,
    search: "ArticleSearch",
    saved: "Saved",
    *,
    wait: bool,
    before: "Article | None" = None,
    message: str | None = None,
) -> int:
    """What was saved; with ``wait`` also what became of its embedding. 1: it failed. ``before``: what was changed, with
    this ``message``."""
    outcome = _Outcome()
    if saved.note:
        session.out.warn(clean(saved.note))
    if wait and saved.tasks:
        session.out.say(f"{_saved_as(saved)}; waiting for its embedding, task {saved.tasks[0]}.")
        outcome = await _until_embedded(session, search, saved.tasks)
    if outcome.failed is not None:
        session.out.warn(clean(outcome.failed))
    for remark in outcome.remarks:
        session.out.say(clean(remark))
    data: dict[str, Any] = {
        **as_data(saved.article),
        "created": saved.created,
        "changed": saved.changed,
        "tasks": list(saved.tasks),
        "note": saved.note,
        "embedded": outcome.failed is None if wait and saved.tasks else None,
        "remarks": list(outcome.remarks),
    }
    told = _sentence(saved, waited=wait, failed=outcome.failed is not None)
    session.out.show(data, told if saved.changed else _unchanged(saved, before, message))
    return 1 if outcome.failed is not None else 0


def _saved_as(saved: "Saved") -> str:
    return f"{saved.article.slug} is saved as revision {saved.article.revision}"


def _sentence(saved: "Saved", *, waited: bool, failed: bool) -> str:
    slug, done = saved.article.slug, _saved_as(saved)
    if not saved.tasks:
        return f"{done}. `penstock articles show {slug}`"
    if waited:
        return f"{done}, but was not embedded." if failed else f"{done} and embedded."
    return f"{done}; its embedding is task {saved.tasks[0]}. `penstock articles show {slug}`"


def _unchanged(saved: "Saved", before: "Article | None", message: str | None) -> str:
    article = saved.article
    if before is not None and before.visibility is not article.visibility:
        return f"The text of {article.slug} is as it was; it is {article.visibility.value}."
    kept = " The message belongs to a new text, so it is not kept." if message else ""
    return f"Nothing changed: the text of {article.slug} is as it was, revision {article.revision}.{kept}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """``failed``: why the active generation has not got it. ``remarks``: of generations that nobody searches now."""

    failed: str | None = None
    remarks: tuple[str, ...] = ()


async def _until_embedded(session: Session, search: "ArticleSearch", tasks: tuple[int, ...]) -> _Outcome:
    """The first task is the active generation's. Ctrl-C ends the waiting alone."""

    async def waited_for() -> int:
        return tasks[0]

    try:
        async with explained(session, search.app, waited_for):
            failed = await _failure(search, tasks[0], None)
        others = await asyncio.gather(*(_failure(search, one, _OTHERS_SECONDS) for one in tasks[1:]))
    except asyncio.CancelledError:
        session.out.say("Not waiting any more; the article is saved, and its embedding goes on.")
        raise
    remarks = tuple(f"For a generation that is not the active one: {why}" for why in others if why is not None)
    return _Outcome(failed=failed, remarks=remarks)


async def _failure(search: "ArticleSearch", task_id: int, seconds: float | None) -> str | None:
    """None: it was embedded, overtaken by a newer text, or has not ended in that time."""
    from penstock.errors import WaitTimeout
    from penstock.lifecycle import State

    try:
        state, _, error = await search.app.task_by_id(task_id).wait(seconds)
    except WaitTimeout:
        return None
    if state in (State.DONE, State.SKIPPED):
        return None
    why = (error or {}).get("message") or "no cause was recorded"
    return f"Task {task_id} ended {state.name}: {why} `penstock tasks show {task_id}`"
