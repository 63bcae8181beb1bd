"""`penstock articles edit`, `restore` and `delete`"""

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.articles_add import tell_saved, text_of
from penstock.cli.articles_ground import (
    ByOption,
    FileArgument,
    MessageOption,
    PriorityOption,
    SkipOption,
    SlugArgument,
    WaitOption,
    actor_of,
    article_to_change,
    given,
    opened,
)
from penstock.cli.articles_show import revision_of
from penstock.cli.command import command
from penstock.cli.pages import YesOption, confirmed, on_terminal
from penstock.cli.readable import short
from penstock.cli.session import Session
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.apps.article_search.article import Article
    from penstock.apps.article_search.shared import ArticleSearch
    from penstock.apps.article_search.writing import Change

EditedOption = Annotated[
    int | None, typer.Option("--revision", min=1, help="The one you edited: refused if it is old.")
]
TitleOption = Annotated[str | None, typer.Option("--title", help="A new title.")]
SharedOption = Annotated[bool | None, typer.Option("--shared/--private", help="Who may read and find it.")]
NumberArgument = Annotated[int, typer.Argument(metavar="REVISION", min=1, help="As `articles revisions` shows it.")]


def register(app: typer.Typer) -> None:
    @command(app)
    async def edit(
        session: Session,
        slug: SlugArgument,
        file: FileArgument = None,
        title: TitleOption = None,
        message: MessageOption = None,
        shared: SharedOption = None,
        revision: EditedOption = None,
        skip_embedding: SkipOption = False,
        priority: PriorityOption = "normal",
        owner: ByOption = None,
        wait: WaitOption = False,
    ) -> int:
        """Change an article: the text from FILE, or in your editor where nothing else is to be changed."""
        from penstock.apps.article_search import writing
        from penstock.apps.article_search.article import Visibility

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

    _register_others(app)


def _register_others(app: typer.Typer) -> None:
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
        from penstock.apps.article_search import writing

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
        from penstock.apps.article_search import writing

        async with opened(session) as search:
            found = await article_to_change(search, slug, owner)
            slug = found.slug
            confirmed(session, f"Delete {slug} ({short(found.title, 60)}) with all its revisions?", yes=yes)
            count = await writing.delete(search, slug, by=actor_of(owner))
        texts = "1 revision" if count == 1 else f"{count:,} revisions"
        session.out.show({"slug": slug, "revisions": count}, f"{slug} is deleted, with {texts}.")


async def _change(
    session: Session, search: "ArticleSearch", before: "Article", change: "Change", by: str, *, wait: bool
) -> int:
    from penstock.apps.article_search import writing
    from penstock.cli.errors import Refused

    try:
        saved = await writing.update(search, before.slug, change, by=by)
    except writing.ArticleChanged as error:
        raise Refused(str(error), next_command=f"penstock articles show {before.slug}") from None
    return await tell_saved(session, search, saved, wait=wait, before=before, message=change.message)


def _content(article: "Article", file: str | None, *, other: bool, message: str | None) -> str | None:
    """None: the text stays. Standard input is read only where it is named: what runs without a terminal has one, too,
    and it is empty. ``other``: something else is to be changed, so no editor is meant."""
    if file is not None:
        return text_of(given(file), file, article.title)[1]
    if other:
        return None
    if on_terminal():
        return _from_editor(article)
    if message is None:
        raise UsageError(
            f"Nobody can be asked here for the new text of {article.slug!r}. Name a FILE, or - for the standard input; "
            "or say what else is to be changed: --title, --shared, --private."
        )
    return None


def _from_editor(article: "Article") -> str | None:
    from penstock.cli.editor import edited

    text = edited(article.content, suffix=".md", instead="name a FILE that has the new text")
    if text is not None and not text.strip():
        raise UsageError(
            f"The text was left empty, so nothing was changed. `penstock articles delete {article.slug}` removes it."
        )
    return text
