"""Many articles at once: a folder of Markdown, one such file, a zip of them, or a CSV.

Read in a thread and stored batch by batch, so a hundred thousand take no more memory than one batch. Each batch is one
transaction, and every article has a source: whatever ends an import, running it again goes on where it was.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asyncpg.exceptions import TransactionRollbackError

from penstock.adaptation.ingest_batch import IngestBatch
from penstock.console.files.files import plain_name
from penstock.console.files.refused import FileRefused
from penstock.console.files.room import require_room
from penstock.errors import DatabaseError, UsageError
from penstock.extensions.articles import import_csv
from penstock.extensions.articles.articles import NewArticle, Visibility
from penstock.extensions.articles.drafts import (
    EMPTY,
    SUFFIXES,
    Draft,
    Entries,
    Refusal,
    read_file,
    read_folder,
    read_zip,
)
from penstock.extensions.articles.indexing.order import new_job
from penstock.extensions.articles.settings import ArticleSettings
from penstock.extensions.articles.shared import ArticleSearch
from penstock.extensions.articles.writing import ManySaved, check_text, in_request, reserve_slugs, save_many

_FIRST_BATCH = 500
_MOST_ROWS = 2000
_TRIES = 8
_BYTES_PER_CHARACTER = 4
_LONGEST_SOURCE = 200
_KINDS = "a folder of Markdown files, a .md or .markdown file, a .csv file or a .zip of Markdown files"
MOST_REFUSED_SHOWN = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """``job_id``: its embeddings; None where there are none. ``refused``: the first ones, of
    ``refused_count`` in all. ``share``: how much was read, 0 to 1. ``note``: the first embedding that failed
    in the request, where there is no queue, of ``not_embedded``."""

    job_id: int | None = None
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: tuple[Refusal, ...] = ()
    refused_count: int = 0
    share: float = 0.0
    not_embedded: int = 0
    note: str | None = None

    @property
    def stored(self) -> int:
        """Articles that are there now, whether they were before or not."""
        return self.created + self.updated + self.unchanged

    def saving(self, saved: ManySaved, notes: Sequence[str]) -> "Imported":
        return replace(
            self,
            created=self.created + len(saved.created),
            updated=self.updated + len(saved.updated),
            unchanged=self.unchanged + saved.unchanged,
            not_embedded=self.not_embedded + len(notes),
            note=self.note or next(iter(notes), None),
        )


Told = Callable[[Imported], None]


async def import_path(
    search: ArticleSearch,
    path: Path,
    *,
    owner: str,
    visibility: Visibility = Visibility.PRIVATE,
    skip_embedding: bool = False,
    name: str | None = None,
    source: str | None = None,
    told: Told = lambda so_far: None,
) -> Imported:
    """``name``: what the file is called, where its path does not say it. ``source``: what the articles are known by,
    instead of the path or the file's name, so that they are the same when they come from elsewhere. ``told`` hears of
    every batch. Raises FileRefused where nothing of it can be read."""
    called = plain_name(name or _name_of(path))
    entries = _entries(search.settings, path, called, _checked_source(source), uploaded=name is not None)
    like = NewArticle(
        title="",
        content="",
        owner=owner,
        author=owner,
        visibility=visibility,
        skip_embedding=skip_embedding,
        priority="low",
    )
    running = _Import(search, called, like, entries)
    try:
        return await running.all(told)
    finally:
        await running.close()
        done = running.so_far
        counts = {"created": done.created, "updated": done.updated, "unchanged": done.unchanged}
        refused = done.refused_count
        search.app.events.emit(
            "articles.imported", file=called, owner=owner, job=done.job_id, **counts, refused=refused
        )


def _name_of(path: Path) -> str:
    """Also of ``.``"""
    return path.resolve().name


def _checked_source(source: str | None) -> str | None:
    if source is None:
        return None
    plain = source.strip().rstrip("/")
    if not plain or len(plain) > _LONGEST_SOURCE or not plain.isprintable():
        raise UsageError(
            f"The source {source[:_LONGEST_SOURCE]!r} will not do: use 1 to {_LONGEST_SOURCE} printable characters."
        )
    return plain


def _entries(settings: ArticleSettings, path: Path, name: str, source: str | None, *, uploaded: bool) -> Entries:
    """What an article is known by begins with ``source``. Without one: with the place on this machine, or with the name
    of the file where that is all that is known, or where the file holds many."""
    most_bytes = settings.max_characters * _BYTES_PER_CHARACTER
    if path.is_dir():
        return read_folder(path, source=source or path.resolve().as_posix(), most_bytes=most_bytes)
    if not path.exists():
        raise FileRefused(f"{str(path)!r} is not there.", f"Name {_KINDS}.")
    suffix = Path(name).suffix.lower()
    if suffix in SUFFIXES:
        here = name if uploaded else path.resolve().as_posix()
        known_by = here if source is None else f"{source}/{name}"
        return read_file(path, name=name, source=known_by, most_bytes=most_bytes)
    if suffix in (".csv", ".tsv"):
        return import_csv.read(path, source=source or name, most_bytes=most_bytes)
    if suffix == ".zip":
        return read_zip(path, source=source or name, most_bytes=most_bytes)
    raise FileRefused(f"{name!r} is nothing that can be imported.", f"Name {_KINDS}.")


class _NothingQueued(Exception):
    """Takes back a job without tasks, which would only confuse."""


@dataclass(slots=True)
class _Batch:
    """``last``: nothing follows."""

    news: list[NewArticle] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    size_bytes: int = 0
    share: float = 1.0
    last: bool = True


class _Import:
    """One run. While a batch is stored, a thread reads the next one."""

    def __init__(self, search: ArticleSearch, name: str, like: NewArticle, entries: Entries) -> None:
        """``like``: what all articles have in common."""
        self._search = search
        self._name = name
        self._like = like
        self._entries = entries
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-articles")
        # An article is more work than a row: word lists, revisions. So batches stay smaller than those of rows.
        size = IngestBatch.start(search.app.settings)
        bounds = replace(size.bounds, max_rows=min(_MOST_ROWS, size.bounds.max_rows))
        self._size = replace(size, bounds=bounds, rows=min(_FIRST_BATCH, bounds.max_rows))
        self._read = 0
        self.so_far = Imported()

    async def all(self, told: Told) -> Imported:
        batch = await self._next()
        while True:
            reading = None if batch.last else asyncio.ensure_future(self._next())
            try:
                if batch.news:
                    saved = await self._store(batch)
                    # The connection is given back: the embedding needs one of its own.
                    notes = await in_request(self._search, saved.orders)
                    self.so_far = self.so_far.saving(saved, notes)
            except BaseException:
                if reading is not None:
                    reading.cancel()
                raise
            refused = (*self.so_far.refused, *batch.refusals)[:MOST_REFUSED_SHOWN]
            count = self.so_far.refused_count + len(batch.refusals)
            self.so_far = replace(self.so_far, refused=refused, refused_count=count, share=batch.share)
            told(self.so_far)
            if reading is None:
                return self.so_far
            batch = await reading

    async def close(self) -> None:
        """After the read under way, which cannot be interrupted: the same thread closes the files."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._entries.close)
        self._thread.shutdown(wait=False)

    async def _next(self) -> _Batch:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._take, self._size)

    def _take(self, size: IngestBatch) -> _Batch:
        """In the thread: up to a batch of articles and bytes."""
        batch = _Batch()
        try:
            for entry in self._entries:
                self._read += 1
                batch.share = entry.share
                found = self._checked(entry.found)
                if isinstance(found, Refusal):
                    batch.refusals.append(found)
                else:
                    batch.news.append(found)
                    batch.size_bytes += len(found.content)
                if len(batch.news) + len(batch.refusals) >= size.rows or batch.size_bytes >= size.max_bytes:
                    batch.last = False
                    return batch
        except FileRefused as error:
            if not self._read:
                raise
            batch.refusals.append(Refusal(where="the rest", why=f"It was not read: {error}"))
        batch.share = 1.0
        return batch

    def _checked(self, found: Draft | Refusal) -> NewArticle | Refusal:
        if isinstance(found, Refusal):
            return found
        if not found.content.strip():
            return Refusal(where=found.where, why=EMPTY)
        try:
            check_text(self._search.settings, found.title, found.content, found.message)
        except UsageError as error:
            return Refusal(where=found.where, why=str(error))
        return replace(
            self._like,
            title=found.title,
            content=found.content,
            message=found.message,
            visibility=found.visibility or self._like.visibility,
            # Said of this article, or of all of them; the default is for new ones alone.
            enforced=found.visibility is not None or self._like.visibility is Visibility.SHARED,
            source=found.source,
        )

    async def _store(self, batch: _Batch) -> ManySaved:
        """Tried again while the fault is one that passes: storing a batch twice changes nothing."""
        attempt = 0
        while True:
            attempt += 1
            asked_at = time.monotonic()
            try:
                async with self._search.app.connection() as connection:
                    began_at = time.monotonic()
                    slugs = await reserve_slugs(connection, batch.news)
                    saved = await self._write(connection, batch.news, slugs)
                    took_ms = (time.monotonic() - began_at) * 1000
            except (DatabaseError, TransactionRollbackError):
                if attempt == _TRIES:
                    raise
                self._size, pause_seconds = self._size.after_error(random.random)
                await asyncio.sleep(pause_seconds)
            else:
                wait_ms = (began_at - asked_at) * 1000
                self._size = self._size.after_batch(len(batch.news), batch.size_bytes, took_ms, wait_ms)
                return saved

    async def _write(self, connection: Any, news: list[NewArticle], slugs: dict[int, str]) -> ManySaved:
        """The job appears with the first article that has something to embed: importing what is known leaves none. Nor
        is there one where articles are embedded at once, after their transaction."""
        job_id = self.so_far.job_id
        if job_id is not None or self._like.skip_embedding or not self._search.settings.enabled:
            return await save_many(self._search, connection, news, job_id=job_id, slugs=slugs)
        app, owner = self._search.app, self._like.owner
        with suppress(_NothingQueued):
            async with connection.transaction():
                await require_room(app, owner, connection=connection, adding=len(news))
                job_id = await new_job(app, connection, f"Import of {self._name}", owner=owner)
                saved = await save_many(self._search, connection, news, job_id=job_id, slugs=slugs)
                if not saved.queued:
                    raise _NothingQueued
            self.so_far = replace(self.so_far, job_id=job_id)
            return saved
        # Another visibility is stored without a job.
        return await save_many(self._search, connection, news, job_id=None) if saved.shown else saved
