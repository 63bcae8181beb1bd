"""Articles in, vectors and their index out: the first half of the search bench."""

import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

from penstock import EnqueueOptions
from penstock.extensions.articles import ann
from penstock.extensions.articles.articles import NewArticle, Visibility
from penstock.extensions.articles.names import PIPELINE
from penstock.extensions.articles.writing import save_many
from penstock.fleet.fleet import Fleet
from penstock_bench import drain
from penstock_bench import statements as bench
from penstock_bench.drain import Drained
from penstock_bench.search_corpus import Writer, Written
from penstock_bench.search_site import OWNER, SearchSite

_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """``chunks`` as stored. ``saving_seconds``: articles, revisions and tasks, without writing the texts."""

    articles: int
    chunks: int
    saving_seconds: float
    drained: Drained
    index_seconds: float
    index: str

    def figures(self) -> dict[str, Any]:
        cpu = self.drained.cpu
        server_us = None if cpu.server_seconds is None else round(cpu.server_seconds / self.chunks * 1e6)
        return {
            "chunks_per_second": round(self.chunks / self.drained.seconds),
            "chunks_per_second_with_index": round(self.chunks / (self.drained.seconds + self.index_seconds)),
            "indexed_per_second": round(self.chunks / self.index_seconds),
            "articles_saved_per_second": round(self.articles / self.saving_seconds),
            "worker_cpu_us_per_chunk": round(cpu.client_seconds / self.chunks * 1e6),
            "server_cpu_us_per_chunk": server_us,
            "wal_bytes_per_chunk": round(self.drained.wal_bytes / self.chunks),
            "chunks": self.chunks,
            "articles": self.articles,
            "index": self.index,
        }


async def save_all(there: SearchSite, writer: Writer, chunks: int) -> tuple[int, float]:
    """How many articles, and the seconds it took to save them. Their stage is paused: nothing runs meanwhile."""
    await drain.pause(there.site, PIPELINE)
    job = await there.app.store_many(
        there.app.pipelines[PIPELINE],
        (),
        EnqueueOptions(priority="low", owner=OWNER),
        name="bench",
        metadata={"type": "articles"},
    )
    count, seconds = 0, 0.0
    written = writer.articles(chunks)
    while news := [_new(one) for one in islice(written, _BATCH)]:
        began = time.monotonic()
        async with there.app.connection() as connection:
            await save_many(there.search, connection, news, job_id=job.id)
        seconds += time.monotonic() - began
        count += len(news)
    await bench.settle_down(there.site.connection)
    await bench.settle_articles(there.site.connection)
    return count, seconds


async def fill(there: SearchSite, fleet: Fleet, articles: int, saving_seconds: float) -> Filled:
    """By the worker that is ready, then the index over all of it."""
    there.site.ground.tell(f"{articles:,} articles are saved")
    drained = await drain.by_runner(there.site, fleet, PIPELINE, articles)
    chunks = await bench.chunks(there.site.connection)
    there.site.ground.tell(f"{chunks:,} chunks embedded and stored, {chunks / drained.seconds:,.0f}/s")
    began = time.monotonic()
    index = await ann.build_index(there.app, await there.generation())
    index_seconds = time.monotonic() - began
    there.site.ground.tell(f"index: {index}, {index_seconds:.1f} s")
    return Filled(
        articles=articles,
        chunks=chunks,
        saving_seconds=saving_seconds,
        drained=drained,
        index_seconds=index_seconds,
        index=index.value,
    )


def _new(one: Written) -> NewArticle:
    """Shared and one's own in turn: a search has to tell them apart."""
    return NewArticle(
        title=one.title,
        content=one.content,
        owner=OWNER,
        author=OWNER,
        visibility=Visibility.SHARED if len(one.content) % 2 else Visibility.PRIVATE,
        priority="low",
    )
