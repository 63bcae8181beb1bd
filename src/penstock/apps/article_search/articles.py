"""Articles and their revisions. One function per query of ``sql/articles.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.apps.article_search.article import Article, Revision, Summary, Visibility
from penstock.storage.queries import load

_sql = load("articles", "penstock.apps.article_search")
Connection = Any
_LATEST = (datetime.max.replace(tzinfo=UTC, year=9998), 2**63 - 1)
_MOST_REVISION = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Inserted:
    id: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """An article that nobody else can change until the transaction ends."""

    article: Article
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An article that an import has stored before."""

    id: int
    revision: int
    visibility: Visibility
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A row of ``revisions``, before it is one."""

    article_id: int
    revision: int
    title: str
    content: str
    message: str | None
    author: str
    digest: bytes


async def take_slug(connection: Connection, base: str) -> int:
    used: int = await connection.fetchval(_sql.take_slug, base)
    return used


async def take_slugs(connection: Connection, wanted: Mapping[str, int]) -> dict[str, int]:
    """base → the last number taken."""
    rows = await connection.fetch(_sql.take_slugs, list(wanted), list(wanted.values()))
    return {row["base"]: row["used"] for row in rows}


async def insert(
    connection: Connection,
    *,
    slug: str,
    title: str,
    content: str,
    owner: str,
    visibility: Visibility,
    source: str | None,
    language: str,
) -> Inserted | None:
    """None: the slug is taken."""
    row = await connection.fetchrow(_sql.insert, slug, title, owner, visibility.value, language, content, source)
    return None if row is None else Inserted(**row)


async def insert_many(connection: Connection, language: str, columns: Sequence[Sequence[Any]]) -> dict[str, int]:
    """``columns``: slugs, titles, owners, visibilities, contents, sources. slug → id of those that were stored."""
    rows = await connection.fetch(_sql.insert_many, language, *columns)
    return {row["slug"]: row["id"] for row in rows}


async def append_revision(connection: Connection, text: Text, task_id: int | None) -> None:
    values = (text.article_id, text.revision, text.title, text.content, text.message, text.author, text.digest)
    await connection.execute(_sql.append_revision, *values, task_id)


async def append_revisions(
    connection: Connection, texts: Sequence[Text], *, after_task: int, job_id: int | None, generation: int
) -> None:
    """Each with the task that the job was given for it behind ``after_task``, where there is one."""
    columns = [
        [getattr(text, name) for text in texts]
        for name in ("article_id", "revision", "title", "content", "message", "author", "digest")
    ]
    await connection.execute(_sql.append_revisions, *columns, after_task, job_id, generation)


async def newest_task(connection: Connection, job_id: int | None) -> int:
    found: int = await connection.fetchval(_sql.newest_task, job_id)
    return found


async def lock(connection: Connection, slug: str) -> Locked | None:
    if await connection.fetchval(_sql.lock, slug) is None:
        return None
    row = await connection.fetchrow(_sql.get, slug)
    return Locked(article=_article(row), digest=row["digest"])


async def revise(
    connection: Connection,
    article_id: int,
    *,
    title: str,
    content: str,
    visibility: Visibility,
    revision: int,
    language: str,
) -> datetime:
    at: datetime = await connection.fetchval(
        _sql.revise, article_id, title, visibility.value, language, content, revision
    )
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
    return {
        row["source"]: Known(
            id=row["id"], revision=row["revision"], visibility=Visibility(row["visibility"]), digest=row["digest"]
        )
        for row in rows
    }


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
    connection: Connection, article_id: int, *, before: int | None = None, since: int = 1, limit: int
) -> list[Revision]:
    """Newest first, without their texts."""
    below = _MOST_REVISION if before is None else before
    return [Revision(**row) for row in await connection.fetch(_sql.revisions, article_id, below, limit, since)]


async def revision(connection: Connection, article_id: int, number: int) -> Revision | None:
    row = await connection.fetchrow(_sql.revision, article_id, number)
    return None if row is None else Revision(**row)


async def texts(connection: Connection, wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], tuple[str, str]]:
    """(article, revision) → (title, content)."""
    ids, numbers = [one for one, _ in wanted], [number for _, number in wanted]
    rows = await connection.fetch(_sql.texts, ids, numbers)
    return {(row["article_id"], row["revision"]): (row["title"], row["content"]) for row in rows}


def _article(row: Mapping[str, Any]) -> Article:
    values = {name: value for name, value in row.items() if name != "digest"}
    return Article(**{**values, "visibility": Visibility(values["visibility"])})


def _summary(row: Mapping[str, Any]) -> Summary:
    return Summary(**{**row, "visibility": Visibility(row["visibility"])})
