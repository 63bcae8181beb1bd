"""Many articles at once: a folder of Markdown, one such file, a zip of them, or a CSV.

Read in a thread and stored batch by batch, so a hundred thousand take no more memory than one batch. Each batch is one
transaction, and every article has a source: whatever ends an import, running it again goes on where it was.
"""

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asyncpg.exceptions import TransactionRollbackError

from penstock import EnqueueOptions
from penstock.apps.article_search import import_csv, import_folder, import_zip
from penstock.apps.article_search.article import Visibility
from penstock.apps.article_search.checking import check_text
from penstock.apps.article_search.drafts import EMPTY, Draft, Entries, Entry, Refusal
from penstock.apps.article_search.imported import Imported
from penstock.apps.article_search.names import PIPELINE
from penstock.apps.article_search.shared import ArticleSearch
from penstock.apps.article_search.writing import NewArticle, in_request
from penstock.apps.article_search.writing_many import ManySaved, reserve_slugs, save_many
from penstock.config import Settings
from penstock.engine.control.ingest_batch import IngestBatch
from penstock.errors import DatabaseError, UsageError
from penstock.intake.files import plain_name
from penstock.intake.refused import FileRefused
from penstock.intake.room import require_room

__all__ = ["Imported", "import_path"]

PRIORITY = "low"
_FIRST_BATCH = 500
_MOST_ROWS = 2000
_TRIES = 8
_BYTES_PER_CHARACTER = 4
_LONGEST_SOURCE = 200
_KINDS = "a folder of Markdown files, a .md or .markdown file, a .csv file or a .zip of Markdown files"


Told = Callable[[Imported], None]


async def import_path(
    search: ArticleSearch,
    path: Path,
    *,
    owner: str,
    visibility: Visibility = Visibility.PRIVATE,
    author: str | None = None,
    skip_embedding: bool = False,
    name: str | None = None,
    source: str | None = None,
    told: Told = lambda so_far: None,
) -> Imported:
    """``author``: who imports, where that is not the owner. ``name``: what the file is called, where its path does not
    say it. ``source``: what the articles are known by, instead of the path or the file's name, so that they are the
    same when they come from elsewhere. ``told`` hears of every batch. Raises FileRefused where nothing of it can be
    read."""
    called = plain_name(name or _name_of(path))
    entries = _entries(search.app.settings, path, called, _checked_source(source), uploaded=name is not None)
    wish = _Wish(owner=owner, author=author or owner, visibility=visibility, skip_embedding=skip_embedding, name=called)
    running = _Import(search, wish, entries)
    try:
        return await running.all(told)
    finally:
        await running.close()
        _log(search, wish, running.so_far)


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


def _entries(settings: Settings, path: Path, name: str, source: str | None, *, uploaded: bool) -> Entries:
    """What an article is known by begins with ``source``. Without one: with the place on this machine, or with the name
    of the file where that is all that is known, or where the file holds many."""
    most_bytes = settings.articles_max_characters * _BYTES_PER_CHARACTER
    if path.is_dir():
        return import_folder.read_folder(path, source=source or path.resolve().as_posix(), most_bytes=most_bytes)
    if not path.exists():
        raise FileRefused(f"{str(path)!r} is not there.", f"Name {_KINDS}.")
    suffix = Path(name).suffix.lower()
    if suffix in import_folder.SUFFIXES:
        here = name if uploaded else path.resolve().as_posix()
        known_by = here if source is None else f"{source}/{name}"
        return import_folder.read_file(path, name=name, source=known_by, most_bytes=most_bytes)
    if suffix in (".csv", ".tsv"):
        return import_csv.read(path, source=source or name, most_bytes=most_bytes)
    if suffix == ".zip":
        return import_zip.read(path, source=source or name, most_bytes=most_bytes)
    raise FileRefused(f"{name!r} is nothing that can be imported.", f"Name {_KINDS}.")


def _log(search: ArticleSearch, wish: "_Wish", done: Imported) -> None:
    search.app.events.emit(
        "articles.imported",
        file=wish.name,
        owner=wish.owner,
        job=done.job_id,
        created=done.created,
        updated=done.updated,
        unchanged=done.unchanged,
        refused=done.refused_count,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """For whom, and how."""

    owner: str
    author: str
    visibility: Visibility
    skip_embedding: bool
    name: str


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

    def __init__(self, search: ArticleSearch, wish: _Wish, entries: Entries) -> None:
        self._search = search
        self._wish = wish
        self._entries = entries
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-articles")
        self._size = _first_size(search.app.settings)
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
            self.so_far = replace(self.so_far.refusing(batch.refusals), share=batch.share)
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
                self._add(batch, entry)
                if len(batch.news) + len(batch.refusals) >= size.rows or batch.size_bytes >= size.max_bytes:
                    batch.last = False
                    return batch
        except FileRefused as error:
            if not self._read:
                raise
            batch.refusals.append(Refusal(where="the rest", why=f"It was not read: {error}"))
        batch.share = 1.0
        return batch

    def _add(self, batch: _Batch, entry: Entry) -> None:
        batch.share = entry.share
        found = self._checked(entry.found)
        if isinstance(found, Refusal):
            batch.refusals.append(found)
        else:
            batch.news.append(found)
            batch.size_bytes += len(found.content)

    def _checked(self, found: Draft | Refusal) -> NewArticle | Refusal:
        if isinstance(found, Refusal):
            return found
        if not found.content.strip():
            return Refusal(where=found.where, why=EMPTY)
        try:
            check_text(self._search.app.settings, found.title, found.content, found.message)
        except UsageError as error:
            return Refusal(where=found.where, why=str(error))
        return NewArticle(
            title=found.title,
            content=found.content,
            owner=self._wish.owner,
            author=self._wish.author,
            message=found.message,
            visibility=found.visibility or self._wish.visibility,
            # Said of this article, or of all of them; the default is for new ones alone.
            enforced=found.visibility is not None or self._wish.visibility is Visibility.SHARED,
            source=found.source,
            skip_embedding=self._wish.skip_embedding,
            priority=PRIORITY,
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
        if job_id is not None or self._wish.skip_embedding or not self._search.app.settings.articles_enabled:
            return await save_many(self._search, connection, news, job_id=job_id, slugs=slugs)
        transaction = connection.transaction()
        await transaction.start()
        try:
            job_id = await self._new_job(connection, len(news))
            saved = await save_many(self._search, connection, news, job_id=job_id, slugs=slugs)
        except BaseException:
            await transaction.rollback()
            raise
        if saved.queued:
            await transaction.commit()
            self.so_far = replace(self.so_far, job_id=job_id)
            return saved
        await transaction.rollback()
        # A job without tasks would only confuse; another visibility is stored without one.
        return await save_many(self._search, connection, news, job_id=None) if saved.shown else saved

    async def _new_job(self, connection: Any, adding: int) -> int:
        app = self._search.app
        await require_room(app, self._wish.owner, connection=connection, adding=adding)
        job = await app.store_many(
            app.pipelines[PIPELINE],
            (),
            EnqueueOptions(priority=PRIORITY, owner=self._wish.owner),
            name=f"Import of {self._wish.name}",
            metadata={"type": "articles"},
            connection=connection,
        )
        return job.id


def _first_size(settings: Settings) -> IngestBatch:
    """An article is more work than a row: word lists, revisions. So batches stay smaller than those of rows."""
    size = IngestBatch.start(settings)
    bounds = replace(size.bounds, max_rows=min(_MOST_ROWS, size.bounds.max_rows))
    return replace(size, bounds=bounds, rows=min(_FIRST_BATCH, bounds.max_rows))
