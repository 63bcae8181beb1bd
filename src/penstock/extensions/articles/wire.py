"""What several routes of articles take and answer. Records of the extension are bodies themselves where they fit."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import Path, Query
from pydantic import Field, StringConstraints

from penstock.console.http.actor import Actor
from penstock.console.http.parameters import COUNTED, LONGEST_NAME, STORABLE, Flag, Moment
from penstock.console.http.wire import Wire
from penstock.extensions.articles.articles import Revision, Summary, Visibility
from penstock.extensions.articles.drafts import Refusal
from penstock.extensions.articles.embedding_tasks import EmbeddingStatus
from penstock.extensions.articles.searching import Hit, Mode
from penstock.extensions.articles.statistics import Coverage
from penstock.extensions.articles.writing import LONGEST_MESSAGE, LONGEST_TITLE

MOST_REVISION = 2**31 - 1
Priority = Literal["high", "normal", "low"]

Slug = Annotated[
    str, Path(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE, description="As the article was answered.")
]
RevisionNumber = Annotated[int, Path(alias="number", ge=1, le=MOST_REVISION)]
Author = Annotated[
    str | None, Query(max_length=LONGEST_NAME, pattern=STORABLE, description="Only articles of this user.")
]
Since = Annotated[Moment | None, Query(description="Only articles changed at this time or later.")]
Until = Annotated[Moment | None, Query(description="Only articles changed before this time.")]

Title = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TITLE, pattern=STORABLE)]
# How long it may be is a setting: the store refuses a longer one with the limit in the sentence.
Content = Annotated[str, StringConstraints(pattern=STORABLE)]
Message = Annotated[str, StringConstraints(max_length=LONGEST_MESSAGE, pattern=STORABLE)]


class _Save(Wire):
    """How the text of a save is embedded."""

    message: Message | None = Field(None, description="Kept with the revision: what was changed, and why.")
    skip_embedding: Flag = Field(False, description="Store it without an embedding task; it is found by its words.")
    embedding_priority: Priority = "normal"

    def values(self) -> dict[str, Any]:
        """As the records of ``writing`` take them."""
        values = self.model_dump()
        return values | {"priority": values.pop("embedding_priority")}


class NewArticleBody(_Save):
    title: Title
    content: Content
    visibility: Visibility = Field(Visibility.PRIVATE, description="`shared`: every user reads and finds it.")


class ChangeBody(_Save):
    """What is left out stays as it is."""

    title: Title | None = None
    content: Content | None = None
    visibility: Visibility | None = None
    revision: Annotated[int, Field(ge=1, le=MOST_REVISION), COUNTED] | None = Field(
        None, description="The one that was edited: if there is a newer one, 409. Left out: the newest is replaced."
    )


class ArticleBody(Wire):
    """`author`: whose article it is."""

    slug: str
    title: str
    revision: int
    author: str
    visibility: Visibility
    created_at: datetime
    updated_at: datetime
    embedding: EmbeddingStatus

    @classmethod
    def of(cls, article: Summary, status: EmbeddingStatus, actor: Actor, **more: Any) -> Self:
        """As this actor may see it. ``more``: fields that ``ArticleBody`` has not."""
        return cls(
            slug=article.slug,
            title=article.title,
            revision=article.revision,
            author=article.owner,
            visibility=article.visibility,
            created_at=article.created_at,
            updated_at=article.updated_at,
            embedding=status if sees_tasks(actor, article) else status.without_task(),
            **more,
        )


def sees_tasks(actor: Actor, article: Summary) -> bool:
    """Whether the embedding tasks of an article, and what went wrong with them, are this actor's business."""
    return actor.is_admin or actor.name == article.owner


class ArticlePage(Wire):
    """`startCursor` and `endCursor` are at its ends, for `before` and `after`; null only of an empty page. Those of the
    neighbours are null where there was nothing more that way."""

    items: list[ArticleBody]
    next_cursor: str | None
    previous_cursor: str | None
    start_cursor: str | None
    end_cursor: str | None


class ArticlesNow(Wire):
    items: list[ArticleBody]


class ArticleDetail(ArticleBody):
    """`editedBy`, `message`: of the current revision. `source`: where an import found it."""

    content: str
    edited_by: str
    message: str | None
    source: str | None


class SavedBody(ArticleBody):
    """`changed` is false where the text was the same already. `note`: what is particular about this save."""

    changed: bool
    task_ids: list[int] = Field(description="Embedding tasks of this save, one per generation that is kept up to date.")
    note: str | None


class DeletedBody(Wire):
    slug: str
    revisions: int = Field(description="How many texts went with it.")


class RevisionPage(Wire):
    items: list[Revision]
    next_cursor: str | None


class SearchBody(Wire):
    """`mode`: how it was answered; `notice` says why that is not how it was asked."""

    mode: Mode
    asked_mode: Mode
    notice: str | None
    items: list[Hit]
    next_cursor: str | None
    coverage: Coverage
    took_ms: dict[str, float]


class ImportOptions(Wire):
    """`visibility`: of articles whose row does not say it. `source`: what they are known by, instead of the file."""

    visibility: Visibility = Visibility.PRIVATE
    skip_embedding: Flag = False
    source: str | None = None


class ImportedBody(Wire):
    """`refused`: the first hundred that were left out, with the reason."""

    job_id: int | None = Field(description="Of the embeddings; null where nothing has to be embedded.")
    created: int
    updated: int
    unchanged: int
    refused: list[Refusal]
    refused_count: int
    not_embedded: int = Field(description="Embeddings that failed in the request, where there is no queue.")
