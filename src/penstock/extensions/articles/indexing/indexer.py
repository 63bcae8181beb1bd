"""Carries out embedding orders: reads the text, cuts it, has it embedded, stores the vectors."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from penstock import Penstock
from penstock.extensions.articles import generations
from penstock.extensions.articles.articles import Operation
from penstock.extensions.articles.chunking import parse
from penstock.extensions.articles.embedders.embedder import Vectors
from penstock.extensions.articles.embedders.registry import Embedders
from penstock.extensions.articles.errors import EmbedderBusy, TextRefused
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.indexing import storing
from penstock.extensions.articles.indexing.order import Embedded, Needless, Order, Outcome
from penstock.extensions.articles.indexing.storing import ArticleInWork, CurrentText
from penstock.extensions.articles.settings import ArticleSettings

Work = Callable[[Sequence[Order]], Coroutine[Any, Any, Sequence[Outcome | BaseException]]]
# Handlers that were claimed together are started one after the other; this long the first waits for the others.
_GATHER_SECONDS = 0.002
# Texts in memory at one time, however large the batch is.
_MOST_AT_ONCE = 64
_DELETED = Needless(reason="the article was deleted")
_NEWER = Needless(reason="a newer version is queued")
_NEWER_UNWANTED = Needless(reason="there is a newer version, which was saved without an embedding")
_STORED_NEWER = Needless(reason="a newer version is indexed, or the article was deleted meanwhile")
_DROPPED = Needless(reason="the generation was dropped")
# So many articles failing alone: it is the provider, not the texts.
_ARTICLES_TO_BLAME_PROVIDER = 2
Embed = Callable[[Sequence[str]], Awaitable[Vectors]]


class Batcher:
    """Puts what is asked for at one time into one batch. No timer: while a batch is under way, what comes waits for the
    next one. So a lonely order goes at once, and many go together.

    ``work`` answers every order of a batch with an outcome, or the error that stands for it.
    """

    def __init__(self, work: Work, *, most: int) -> None:
        self._work = work
        self._most = most
        self._waiting: deque[tuple[Order, asyncio.Future[Outcome]]] = deque()
        self._running: asyncio.Task[None] | None = None
        # The batch that is under way, and who waits for it.
        self._working: asyncio.Future[Sequence[Outcome | BaseException]] | None = None
        self._waited_for: list[asyncio.Future[Outcome]] = []

    async def submit(self, order: Order) -> Outcome:
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((order, future))
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run())
        try:
            return await future
        finally:
            # A batch that nobody waits for any more must not hold up the next one.
            if self._working is not None and all(one.done() for one in self._waited_for):
                self._working.cancel()

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        if self._most > 1:
            await asyncio.sleep(_GATHER_SECONDS)
        while self._waiting:
            batch: list[tuple[Order, asyncio.Future[Outcome]]] = []
            while self._waiting and len(batch) < self._most:
                order, future = self._waiting.popleft()
                if not future.done():  # its handler gave up meanwhile
                    batch.append((order, future))
            if batch:
                await self._carry_out(batch)

    async def _carry_out(self, batch: list[tuple[Order, asyncio.Future[Outcome]]]) -> None:
        self._waited_for = [future for _, future in batch]
        working = asyncio.get_running_loop().create_task(self._work([order for order, _ in batch]))
        self._working = working
        try:
            outcomes: Sequence[Outcome | BaseException] = await working
        except asyncio.CancelledError:
            if all(future.done() for future in self._waited_for):
                return  # given up by everybody: the next batch
            working.cancel()
            _answer(batch, [RuntimeError("The embedding was interrupted.")] * len(batch))
            raise
        except Exception as error:
            outcomes = [error] * len(batch)
        finally:
            self._working = None
        _answer(batch, outcomes)


def _answer(batch: list[tuple[Order, asyncio.Future[Outcome]]], outcomes: Sequence[Outcome | BaseException]) -> None:
    for (_, future), outcome in zip(batch, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


async def embed_drafts(drafts: Sequence[ArticleInWork], embed: Embed) -> None:
    """Each draft has its vectors afterwards, or the error that stands for it. Where one of its texts may be to blame, a
    batch is halved until that one is found; a provider that is away would be asked for ever."""
    waiting, failed_alone = [drafts], 0
    while waiting:
        part = waiting.pop()
        texts = [text for draft in part for text in draft.texts]
        if not texts:
            continue
        try:
            vectors = await embed(texts)
        except Exception as error:
            failed_alone += isinstance(error, EmbedderBusy) and len(part) == 1
            if not _may_be_a_text(error) or failed_alone >= _ARTICLES_TO_BLAME_PROVIDER:
                for draft in drafts:
                    if draft.made is None and draft.error is None and draft.texts:
                        draft.error = error
                return
            if len(part) == 1:
                part[0].error = error
            else:
                middle = len(part) // 2
                waiting += [part[middle:], part[:middle]]
            continue
        start = 0
        for draft in part:
            draft.made = vectors[start : start + len(draft.texts)]
            start += len(draft.texts)


def _may_be_a_text(error: Exception) -> bool:
    return isinstance(error, TextRefused | ValueError) or (isinstance(error, EmbedderBusy) and error.reached)


class Indexer:
    """One per process. Orders of one generation go together; another generation's provider is not waited for."""

    def __init__(self, app: Penstock, embedders: Embedders) -> None:
        self._app = app
        self._embedders = embedders
        self._batchers: dict[int, Batcher] = {}

    async def carry_out(self, order: Order) -> Outcome:
        """Raises what the embedder raised. The article is never touched."""
        if order.operation is Operation.DELETE:
            async with self._app.connection() as connection:
                removed = await storing.remove(connection, await generations.live(connection), [order.article])
            return Embedded(revision=0, chunks=0, reused=0) if removed else Needless(reason="the article exists")
        assert order.generation is not None
        if (batcher := self._batchers.get(order.generation)) is None:
            most = self._app.settings.of(ArticleSettings).batch_size
            batcher = self._batchers[order.generation] = Batcher(partial(self._embed, order.generation), most=most)
        return await batcher.submit(order)

    async def close(self) -> None:
        for batcher in self._batchers.values():
            await batcher.close()
        self._batchers = {}

    async def _embed(self, generation_id: int, orders: Sequence[Order]) -> list[Outcome | BaseException]:
        async with self._app.connection() as connection:
            generation = await generations.get(connection, generation_id)
        if generation is None or generation.state is GenerationState.DROPPED:
            return [_DROPPED] * len(orders)
        outcomes: list[Outcome | BaseException] = []
        for start in range(0, len(orders), _MOST_AT_ONCE):
            outcomes += await self._embed_part(generation, orders[start : start + _MOST_AT_ONCE])
        return outcomes

    async def _embed_part(self, generation: Generation, orders: Sequence[Order]) -> list[Outcome | BaseException]:
        ids = sorted({order.article for order in orders})
        async with self._app.connection() as connection:
            found = await storing.wanted(connection, ids, generation.id)
            forced = {order.article for order in orders if order.force}
            same = [one for one in found.values() if one.indexed_digest == one.digest and one.id not in forced]
            confirmed = await storing.unchanged(connection, generation, same) if same else set()
        settled: dict[int, Outcome | BaseException] = {
            one.id: Embedded(revision=one.revision, chunks=0, reused=0, started_at=one.read_at)
            for one in same
            if one.id in confirmed
        }
        # Two orders of one article in a batch are one embedding, of the newest text; the older of them says so itself.
        asked = {order.article for order in orders if _answer_at_once(order, found) is None} - set(settled)
        if asked:
            measured = {order.article for order in orders if order.operation is not Operation.REINDEX}
            embedder = await self._embedders.for_generation(generation)
            drafts = await self._drafts(generation, [found[article] for article in sorted(asked)], forced, measured)
            await embed_drafts(drafts, partial(embedder.embed, purpose="document"))
            stored: set[int] = set()
            if ready := [draft for draft in drafts if draft.error is None]:
                async with self._app.connection() as connection:
                    stored = await storing.store(connection, generation, ready)
            settled |= {draft.wanted.id: _outcome(draft, stored) for draft in drafts}
        return [_answer_at_once(order, found) or settled[order.article] for order in orders]

    async def _drafts(
        self, generation: Generation, wanted: Sequence[CurrentText], forced: set[int], measured: set[int]
    ) -> list[ArticleInWork]:
        chunker = parse(generation.chunker)
        cut = await asyncio.to_thread(lambda: [chunker.cut(one.title, one.content) for one in wanted])
        known: dict[int, dict[bytes, Vectors]] = {}
        indexed = [one.id for one in wanted if one.indexed_revision is not None and one.id not in forced]
        if indexed:
            async with self._app.connection() as connection:
                known = await storing.kept(connection, generation, indexed)
        return [
            ArticleInWork(
                wanted=one,
                chunks=chunks,
                known=[known.get(one.id, {}).get(chunk.digest) for chunk in chunks],
                measured=one.id in measured,
            )
            for one, chunks in zip(wanted, cut, strict=True)
        ]


def _answer_at_once(order: Order, found: Mapping[int, CurrentText]) -> Needless | None:
    article = found.get(order.article)
    if article is None:
        return _DELETED
    if order.revision is None or order.revision >= article.revision:
        return None
    return _NEWER_UNWANTED if article.unwanted else _NEWER


def _outcome(draft: ArticleInWork, stored: set[int]) -> Outcome | BaseException:
    if draft.error is not None:
        return draft.error
    if draft.wanted.id not in stored:
        return _STORED_NEWER
    reused = len(draft.chunks) - len(draft.texts)
    return Embedded(
        revision=draft.wanted.revision, chunks=len(draft.chunks), reused=reused, started_at=draft.wanted.read_at
    )
