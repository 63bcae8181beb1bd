"""`penstock articles add`, `edit`, `restore` and `delete`"""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.errors import UsageError, WaitTimeout
from penstock.extensions.articles import writing
from penstock.extensions.articles.articles import Article, NewArticle, Visibility
from penstock.extensions.articles.commands.context import (
    ByOption,
    FileArgument,
    MessageOption,
    OwnerOption,
    PriorityOption,
    SkipOption,
    SlugArgument,
    WaitOption,
    actor_of,
    article_to_change,
    as_data,
    explained,
    given,
    opened,
)
from penstock.extensions.articles.commands.search import revision_of
from penstock.extensions.articles.drafts import EMPTY, Refusal, decoded, of_markdown
from penstock.extensions.articles.shared import ArticleSearch
from penstock.extensions.articles.writing import Change, Saved
from penstock.lifecycle import State
from penstock.terminal.command import command
from penstock.terminal.editor import edited
from penstock.terminal.errors import Refused
from penstock.terminal.owners import require_owner
from penstock.terminal.pages import YesOption, confirmed, on_terminal
from penstock.terminal.readable import clean, short
from penstock.terminal.session import Session

TitleOption = Annotated[str | None, typer.Option("--title", help="Otherwise the first heading, or the file's name.")]
SharedFlag = Annotated[bool, typer.Option("--shared", help="Every user may read and find it.")]
# Generations that nobody searches are embedded last; a search does not wait for them, so nor does a command for long.
_OTHERS_SECONDS = 5.0

EditedOption = Annotated[
    int | None, typer.Option("--revision", min=1, help="The one you edited: refused if it is old.")
]
NewTitleOption = Annotated[str | None, typer.Option("--title", help="A new title.")]
SharedOption = Annotated[bool | None, typer.Option("--shared/--private", help="Who may read and find it.")]
NumberArgument = Annotated[int, typer.Argument(metavar="REVISION", min=1, help="As `articles revisions` shows it.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def add(
        session: Session,
        file: FileArgument = None,
        title: TitleOption = None,
        message: MessageOption = None,
        shared: SharedFlag = False,
        skip_embedding: SkipOption = False,
        priority: PriorityOption = "normal",
        owner: OwnerOption = "admin",
        wait: WaitOption = False,
    ) -> int:
        """Save an article. It is found by its words at once, and by its meaning when a worker has embedded it."""
        title, content = text_of(given(file), file, title)
        new = NewArticle(
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
    where, name = ("the standard input", "") if file is None or file == "-" else (file, Path(file).stem)
    found = of_markdown(data, where=where, source="", name=name) if title is None else decoded(data, where=where)
    if isinstance(found, Refusal):
        raise UsageError(f"{found.where}: {found.why}")
    content = found if isinstance(found, str) else found.content
    if not content.strip():
        # Mostly a mistake: a pipe that failed, a file that was not saved.
        raise UsageError(f"{where}: {EMPTY} Nothing was saved.")
    named = title if isinstance(found, str) else found.title
    if title is None and not named:
        raise UsageError("The text has no heading of level 1 that could be its title. Give one with --title.")
    return named or "", content


async def tell_saved(
    session: Session,
    search: ArticleSearch,
    saved: Saved,
    *,
    wait: bool,
    before: Article | None = None,
    message: str | None = None,
) -> int:
    """What was saved; with ``wait`` also what became of its embedding. 1: it failed. ``before``: what was changed, with
    this ``message``."""
    failed: str | None = None
    remarks: list[str] = []
    if saved.note:
        session.out.warn(clean(saved.note))
    if wait and saved.tasks:
        session.out.say(f"{_saved_as(saved)}; waiting for its embedding, task {saved.tasks[0]}.")
        failed, remarks = await _until_embedded(session, search, saved.tasks)
    if failed is not None:
        session.out.warn(clean(failed))
    for remark in remarks:
        session.out.say(clean(remark))
    data: dict[str, Any] = {
        **as_data(saved.article),
        "created": saved.created,
        "changed": saved.changed,
        "tasks": list(saved.tasks),
        "note": saved.note,
        "embedded": failed is None if wait and saved.tasks else None,
        "remarks": remarks,
    }
    told = _sentence(saved, waited=wait, failed=failed is not None)
    session.out.show(data, told if saved.changed else _unchanged(saved, before, message))
    return 1 if failed is not None else 0


def _saved_as(saved: Saved) -> str:
    return f"{saved.article.slug} is saved as revision {saved.article.revision}"


def _sentence(saved: Saved, *, waited: bool, failed: bool) -> str:
    slug, done = saved.article.slug, _saved_as(saved)
    if not saved.tasks:
        return f"{done}. `penstock articles show {slug}`"
    if waited:
        return f"{done}, but was not embedded." if failed else f"{done} and embedded."
    return f"{done}; its embedding is task {saved.tasks[0]}. `penstock articles show {slug}`"


def _unchanged(saved: Saved, before: Article | None, message: str | None) -> str:
    article = saved.article
    if before is not None and before.visibility is not article.visibility:
        return f"The text of {article.slug} is as it was; it is {article.visibility.value}."
    kept = " The message belongs to a new text, so it is not kept." if message else ""
    return f"Nothing changed: the text of {article.slug} is as it was, revision {article.revision}.{kept}"


async def _until_embedded(
    session: Session, search: ArticleSearch, tasks: tuple[int, ...]
) -> tuple[str | None, list[str]]:
    """Why the active generation has not got it, whose task is the first; and remarks about generations that nobody
    searches now."""

    async def waited_for() -> int:
        return tasks[0]

    stopped = "Not waiting any more; the article is saved, and its embedding goes on."
    async with explained(session, search.app, waited_for, stopped=stopped):
        failed = await _failure(search, tasks[0], None)
        others = await asyncio.gather(*(_failure(search, one, _OTHERS_SECONDS) for one in tasks[1:]))
    return failed, [f"For a generation that is not the active one: {why}" for why in others if why is not None]


async def _failure(search: ArticleSearch, task_id: int, seconds: float | None) -> str | None:
    """None: it was embedded, overtaken by a newer text, or has not ended in that time."""
    try:
        state, _, error = await search.app.task_by_id(task_id).wait(seconds)
    except WaitTimeout:
        return None
    if state in (State.DONE, State.SKIPPED):
        return None
    why = (error or {}).get("message") or "no cause was recorded"
    return f"Task {task_id} ended {state.name}: {why} `penstock tasks show {task_id}`"


def register_changes(app: typer.Typer) -> None:
    @command(app)
    async def edit(
        session: Session,
        slug: SlugArgument,
        file: FileArgument = None,
        title: NewTitleOption = None,
        message: MessageOption = None,
        shared: SharedOption = None,
        revision: EditedOption = None,
        skip_embedding: SkipOption = False,
        priority: PriorityOption = "normal",
        owner: ByOption = None,
        wait: WaitOption = False,
    ) -> int:
        """Change an article: the text from FILE, or in your editor where nothing else is to be changed."""
        async with opened(session) as search:
            found = await article_to_change(search, slug, owner)
            other = title is not None or shared is not None
            change = writing.Change(
                title=title,
                content=_content(found, file, other=other, message=message),
                message=message,
                visibility=None if shared is None else Visibility.SHARED if shared else Visibility.PRIVATE,
                skip_embedding=skip_embedding,
                priority=priority,
                revision=revision or found.revision,
            )
            return await _change(session, search, found, change, actor_of(owner), wait=wait)

    @command(app)
    async def restore(
        session: Session,
        slug: SlugArgument,
        number: NumberArgument,
        skip_embedding: SkipOption = False,
        priority: PriorityOption = "normal",
        owner: ByOption = None,
        wait: WaitOption = False,
    ) -> int:
        """Save an earlier text again, as a new revision; what came after it stays readable."""
        async with opened(session) as search:
            found = await article_to_change(search, slug, owner)
            earlier = await revision_of(search, found, number)
            change = writing.Change(
                title=earlier.title,
                content=earlier.content,
                message=f"restored from revision {number}",
                skip_embedding=skip_embedding,
                priority=priority,
                revision=found.revision,
            )
            return await _change(session, search, found, change, actor_of(owner), wait=wait)

    @command(app)
    async def delete(session: Session, slug: SlugArgument, owner: ByOption = None, yes: YesOption = False) -> None:
        """An article with all its revisions. It is found no more at once; a worker removes its vectors."""
        async with opened(session) as search:
            found = await article_to_change(search, slug, owner)
            slug = found.slug
            confirmed(session, f"Delete {slug} ({short(found.title, 60)}) with all its revisions?", yes=yes)
            count = await writing.delete(search, slug, by=actor_of(owner))
        texts = "1 revision" if count == 1 else f"{count:,} revisions"
        session.out.show({"slug": slug, "revisions": count}, f"{slug} is deleted, with {texts}.")


async def _change(
    session: Session, search: ArticleSearch, before: Article, change: Change, by: str, *, wait: bool
) -> int:
    try:
        saved = await writing.update(search, before.slug, change, by=by)
    except writing.ArticleChanged as error:
        raise Refused(str(error), next_command=f"penstock articles show {before.slug}") from None
    return await tell_saved(session, search, saved, wait=wait, before=before, message=change.message)


def _content(article: Article, file: str | None, *, other: bool, message: str | None) -> str | None:
    """None: the text stays. Standard input is read only where it is named: what runs without a terminal has one, too,
    and it is empty. ``other``: something else is to be changed, so no editor is meant."""
    if file is not None:
        return text_of(given(file), file, article.title)[1]
    if other:
        return None
    if on_terminal():
        text = edited(article.content, suffix=".md", instead="name a FILE that has the new text")
        if text is not None and not text.strip():
            removal = f"`penstock articles delete {article.slug}` removes it."
            raise UsageError(f"The text was left empty, so nothing was changed. {removal}")
        return text
    if message is None:
        raise UsageError(
            f"Nobody can be asked here for the new text of {article.slug!r}. Name a FILE, or - for the standard input; "
            "or say what else is to be changed: --title, --shared, --private."
        )
    return None
