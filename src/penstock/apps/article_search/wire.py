"""Articles, searches and their answers on the wire. What is about the index itself is in ``wire_index``."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import Field, StringConstraints

from penstock.apps.article_search.article import Visibility
from penstock.apps.article_search.checking import LONGEST_MESSAGE, LONGEST_TITLE
from penstock.apps.article_search.standing import Chip, Status
from penstock.service.parameters import COUNTED, LONGEST_NAME, STORABLE, Flag, Moment
from penstock.service.wire import Wire

MOST_QUERY_CHARACTERS = 1000
MOST_REVISION = 2**31 - 1
Mode = Literal["hybrid", "semantic", "keyword"]
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


class Wanted(Wire):
    """How the text of a save is embedded."""

    message: Message | None = Field(None, description="Kept with the revision: what was changed, and why.")
    skip_embedding: Flag = Field(False, description="Store it without an embedding task; it is found by its words.")
    embedding_priority: Priority = "normal"


class NewArticleBody(Wanted):
    title: Title
    content: Content
    visibility: Visibility = Field(Visibility.PRIVATE, description="`shared`: every user reads and finds it.")


class ChangeBody(Wanted):
    """What is left out stays as it is."""

    title: Title | None = None
    content: Content | None = None
    visibility: Visibility | None = None
    revision: Annotated[int, Field(ge=1, le=MOST_REVISION), COUNTED] | None = Field(
        None, description="The one that was edited: if there is a newer one, 409. Left out: the newest is replaced."
    )


class EmbeddingBody(Wire):
    """`chip`: what a search finds. `indexed`: this text; `stale`: an older one; `waiting`, `failed` and `missing`:
    only its words, as the task is under way, ended badly or does not exist. `status` and what follows: of the newest
    task; shown to the owner and to admins."""

    chip: Chip
    status: Status
    task_id: int | None
    attempts: int
    max_attempts: int
    error: str | None
    category: str | None
    indexed_revision: int | None
    embedded_at: datetime | None
    next_run_at: datetime | None


class ArticleBody(Wire):
    """`author`: whose article it is."""

    slug: str
    title: str
    revision: int
    author: str
    visibility: Visibility
    created_at: datetime
    updated_at: datetime
    embedding: EmbeddingBody


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


class RevisionBody(Wire):
    """`author`: who saved it."""

    revision: int
    title: str
    message: str | None
    author: str
    task_id: int | None
    created_at: datetime


class RevisionDetail(RevisionBody):
    content: str


class RevisionPage(Wire):
    items: list[RevisionBody]
    next_cursor: str | None


class Mark(Wire):
    """Characters of the passage, from 0; `to` is the first one behind the mark."""

    from_: int = Field(alias="from", serialization_alias="from")
    to: int


class PassageBody(Wire):
    """`starts`: where it stands in the content of `revision`, in characters."""

    text: str
    marks: list[Mark]
    starts: int
    revision: int


class SemanticScore(Wire):
    rank: int
    similarity: float


class KeywordScore(Wire):
    rank: int
    score: float


class ScoreBody(Wire):
    """`fused`: what the order comes from. Null: not among the best of that list."""

    fused: float
    semantic: SemanticScore | None
    keyword: KeywordScore | None


class HitBody(Wire):
    """`stale`: the vectors that found it are of an older text."""

    slug: str
    title: str
    author: str
    visibility: Visibility
    updated_at: datetime
    chip: Chip
    stale: bool
    score: ScoreBody
    passage: PassageBody


class CoverageBody(Wire):
    """Of all articles: `indexed` have vectors of their text, `stale` of an older one, `pending` none yet."""

    indexed: int
    stale: int
    pending: int
    total: int
    generation: str
    as_of: datetime


class SearchBody(Wire):
    """`mode`: how it was answered; `notice` says why that is not how it was asked."""

    mode: Mode
    asked_mode: Mode
    notice: str | None
    items: list[HitBody]
    next_cursor: str | None
    coverage: CoverageBody
    took_ms: dict[str, float]


class ImportOptions(Wire):
    """`visibility`: of articles whose row does not say it. `source`: what they are known by, instead of the file."""

    visibility: Visibility = Visibility.PRIVATE
    skip_embedding: Flag = False
    source: str | None = None


class RefusedBody(Wire):
    where: str
    why: str


class ImportedBody(Wire):
    """`refused`: the first hundred that were left out, with the reason."""

    job_id: int | None = Field(description="Of the embeddings; null where nothing has to be embedded.")
    created: int
    updated: int
    unchanged: int
    refused: list[RefusedBody]
    refused_count: int
    not_embedded: int = Field(description="Embeddings that failed in the request, where there is no queue.")
