"""Articles, their revisions and addresses. One function per query of ``sql/articles.sql``."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from penstock.errors import NotKnown
from penstock.extensions.articles.shared import WireRecord
from penstock.storage.queries import load

_sql = load("articles", "penstock.extensions.articles")
Connection = Any

_LATEST = (datetime.max.replace(tzinfo=UTC, year=9998), 2**63 - 1)
_MOST_REVISION = 2**31 - 1


class Visibility(StrEnum):
    """``SHARED``: everybody who may log in reads and finds it; only its owner and admins change it."""

    PRIVATE = "private"
    SHARED = "shared"


class Operation(StrEnum):
    """Why an embedding task exists."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REINDEX = "reindex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """An article in a list, without its text. ``shared_from``: first revision that others may read. ``task_id``: the
    embedding task of this revision; None: none was wanted."""

    id: int
    slug: str
    title: str
    revision: int
    owner: str
    visibility: Visibility
    shared_from: int | None
    task_id: int | None
    created_at: datetime
    updated_at: datetime

    def visible_to(self, viewer: str | None) -> bool:
        """``viewer`` None: sees everything, here and below."""
        return viewer in (None, self.owner) or self.visibility is Visibility.SHARED

    def first_seen(self, viewer: str | None) -> int:
        """The first revision to read: who shared an article did not share what it said before."""
        return 1 if viewer in (None, self.owner) else self.shared_from or self.revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Article(Summary):
    """With its current text, and who wrote that."""

    content: str
    source: str | None
    message: str | None
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(WireRecord):
    """`author`: who saved it."""

    revision: int
    title: str
    message: str | None
    author: str
    task_id: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionDetail(Revision):
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArticle:
    """``source``: where an import found it; ``author``: who wrote this revision. ``enforced``: the visibility is meant
    for an article that is there already, too."""

    title: str
    content: str
    owner: str
    author: str
    message: str | None = None
    visibility: Visibility = Visibility.PRIVATE
    enforced: bool = False
    source: str | None = None
    skip_embedding: bool = False
    priority: str = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An article that an import has stored before."""

    id: int
    source: str
    revision: int
    visibility: Visibility
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A row of ``revisions``, before it is one; the fields in the order of its columns."""

    article_id: int
    revision: int
    title: str
    content: str
    message: str | None
    author: str
    digest: bytes

    @classmethod
    def of(cls, article: Article | NewArticle, article_id: int, revision: int) -> "Text":
        return cls(
            article_id=article_id,
            revision=revision,
            title=article.title,
            content=article.content,
            message=article.message,
            author=article.author,
            digest=digest_of(article.title, article.content),
        )


def digest_of(title: str, content: str) -> bytes:
    """What an embedding depends on."""
    return sha256(f"{len(title)}\n{title}\n{content}".encode()).digest()


async def take_slugs(connection: Connection, titles: Sequence[str]) -> list[str]:
    """One for each title, with the next number of those that are spelt alike."""
    bases = [slug_of(title) for title in titles]
    counts = Counter(bases)
    rows = await connection.fetch(_sql.take_slugs, list(counts), list(counts.values()))
    used = {row["base"]: row["used"] - counts[row["base"]] for row in rows}
    slugs = []
    for base in bases:
        used[base] += 1
        slugs.append(numbered(base, used[base]))
    return slugs


async def insert(
    connection: Connection, language: str, placed: Sequence[tuple[NewArticle, str]]
) -> dict[str, tuple[int, datetime]]:
    """Each with the slug it should have. slug → id and time of those that were stored; other slugs are taken."""
    names = ("title", "owner", "visibility", "content", "source")
    columns = [[getattr(new, name) for new, _ in placed] for name in names]
    rows = await connection.fetch(_sql.insert, language, [slug for _, slug in placed], *columns)
    return {row["slug"]: (row["id"], row["created_at"]) for row in rows}


async def append_revision(connection: Connection, text: Text, task_id: int | None) -> None:
    await connection.execute(_sql.append_revision, *astuple(text), task_id)


async def append_revisions(
    connection: Connection, texts: Sequence[Text], *, after_task: int, job_id: int | None, generation: int
) -> None:
    """Each with the task that the job was given for it behind ``after_task``, where there is one."""
    columns = map(list, zip(*map(astuple, texts), strict=True))
    await connection.execute(_sql.append_revisions, *columns, after_task, job_id, generation)


async def newest_task(connection: Connection, job_id: int | None) -> int:
    found: int = await connection.fetchval(_sql.newest_task, job_id)
    return found


async def lock(connection: Connection, slug: str) -> tuple[Article, bytes]:
    """With its digest. Nobody else can change it until the transaction ends. Raises NotKnown."""
    if await connection.fetchval(_sql.lock, slug) is None:
        raise NotKnown(kind="article", name=slug)
    row = await connection.fetchrow(_sql.get, slug)
    return _article(row), row["digest"]


async def revise(connection: Connection, article: Article, language: str) -> datetime:
    values = (article.title, article.visibility, language, article.content, article.revision)
    at: datetime = await connection.fetchval(_sql.revise, article.id, *values)
    return at


async def revise_many(connection: Connection, texts: Sequence[Text], language: str) -> None:
    columns = [[getattr(text, name) for text in texts] for name in ("article_id", "title", "content", "revision")]
    await connection.execute(_sql.revise_many, language, *columns)


async def show_to(connection: Connection, article_ids: Sequence[int], visibility: Visibility) -> datetime | None:
    """When; None: all of them were shown so."""
    at: datetime | None = await connection.fetchval(_sql.show_to, article_ids, visibility.value)
    return at


async def delete(connection: Connection, article_id: int) -> None:
    await connection.execute(_sql.delete, article_id)


async def get(connection: Connection, slug: str) -> Article | None:
    row = await connection.fetchrow(_sql.get, slug)
    return None if row is None else _article(row)


async def by_ids(connection: Connection, ids: Sequence[int]) -> list[Summary]:
    """In any order; those that are gone are left out."""
    return [_summary(row) for row in await connection.fetch(_sql.by_ids, ids)]


async def known_sources(connection: Connection, owner: str, sources: Sequence[str]) -> set[str]:
    return {row["source"] for row in await connection.fetch(_sql.known_sources, owner, sources)}


async def lock_sources(connection: Connection, owner: str, sources: Sequence[str]) -> dict[str, Known]:
    """By source, those that are there."""
    ids = [row["id"] for row in await connection.fetch(_sql.lock_sources, owner, sources)]
    rows = await connection.fetch(_sql.digests, ids) if ids else []
    return {row["source"]: Known(**{**row, "visibility": Visibility(row["visibility"])}) for row in rows}


async def unattended(connection: Connection, article_ids: Sequence[int], generation: int) -> list[tuple[int, int]]:
    """(id, revision) of those that are not indexed as they are, and that no task will change."""
    rows = await connection.fetch(_sql.unattended, article_ids, generation)
    return [(row["id"], row["revision"]) for row in rows]


Place = tuple[datetime, int]
"""Where a page of articles ended: its time and its id."""


async def page(
    connection: Connection,
    *,
    viewer: str | None,
    owner: str | None = None,
    after: Place | None = None,
    before: Place | None = None,
    limit: int,
) -> list[Summary]:
    """Newest change first. ``viewer`` None: sees everything; ``owner``: only articles of that one. ``before``: the page
    that ends at that place, which is the nearest ``limit`` of what is newer."""
    place = before or after or _LATEST
    if owner is not None:
        others = viewer is not None and viewer != owner
        query = _sql.page_of_owner_before if before else _sql.page_of_owner
        rows = await connection.fetch(query, owner, others, *place, limit)
    elif viewer is not None:
        rows = await connection.fetch(_sql.page_for_before if before else _sql.page_for, viewer, *place, limit)
    else:
        rows = await connection.fetch(_sql.page_of_all_before if before else _sql.page_of_all, *place, limit)
    found = [_summary(row) for row in rows]
    return found[::-1] if before else found


async def by_slugs(connection: Connection, slugs: Sequence[str], *, viewer: str | None) -> list[Summary]:
    """In any order; those that are gone, or that ``viewer`` may not see, are left out."""
    return [_summary(row) for row in await connection.fetch(_sql.by_slugs, viewer, slugs)]


async def revisions(
    connection: Connection, article: Summary, *, viewer: str | None, before: int | None = None, limit: int
) -> list[Revision]:
    """Those that ``viewer`` may read, newest first, without their texts."""
    below, since = _MOST_REVISION if before is None else before, article.first_seen(viewer)
    return [Revision(**row) for row in await connection.fetch(_sql.revisions, article.id, below, limit, since)]


async def revision(
    connection: Connection, article: Summary, number: int, *, viewer: str | None
) -> RevisionDetail | None:
    """None: there is none, or ``viewer`` may not read it."""
    row = await connection.fetchrow(_sql.revision, article.id, number)
    return None if row is None or number < article.first_seen(viewer) else RevisionDetail(**row)


def _article(row: Mapping[str, Any]) -> Article:
    values = {name: value for name, value in row.items() if name != "digest"}
    return Article(**{**values, "visibility": Visibility(values["visibility"])})


def _summary(row: Mapping[str, Any]) -> Summary:
    return Summary(**{**row, "visibility": Visibility(row["visibility"])})


_HYPHENS = re.compile(r"-+")
# Marks above and below Latin, Greek and Cyrillic letters; signs that other scripts write vowels with stay.
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_LONGEST = 80
# What has no decomposition, as people write it where it is missing.
_SPELT = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "đ": "d", "ł": "l", "þ": "th", "œ": "oe"})


def slug_of(title: str) -> str:
    """The address of an article, made from its title once and never changed: lower case, words joined by hyphens,
    accents dropped; letters of other scripts stay. Never empty."""
    lowered = title.casefold().translate(_SPELT)
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", lowered))
    # Letters, digits, and the marks that some scripts write vowels with.
    kept = (sign if unicodedata.category(sign)[0] in "LNM" else "-" for sign in unicodedata.normalize("NFC", plain))
    slug = _HYPHENS.sub("-", "".join(kept)).strip("-")
    if len(slug) > _LONGEST:
        slug = slug[:_LONGEST].rsplit("-", 1)[0] if "-" in slug[:_LONGEST] else slug[:_LONGEST]
    return slug.strip("-") or "article"


def numbered(base: str, number: int) -> str:
    return base if number == 1 else f"{base}-{number}"
