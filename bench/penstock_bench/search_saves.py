"""How long a save takes: when nothing else goes on, while the embedder is down, and while everything is re-indexed.

In rounds of all three, so that each meets the same machine. Over the service's own routes.
"""

import asyncio
import time
from typing import Any

from penstock.control import jobs
from penstock.extensions.articles import reindexing
from penstock.extensions.articles.names import BUILTIN, PIPELINE
from penstock_bench import statements as bench
from penstock_bench.figures import median, percentile
from penstock_bench.search_corpus import Writer, Written
from penstock_bench.search_site import AWAY, OWNER, SearchSite

_DEADLINE_SECONDS = 60.0
_WARM_UP = 5
_SHARE = 0.95


class Saves:
    """One re-index of everything, which goes on only while it is measured; a new one when it is through."""

    def __init__(self, there: SearchSite, writer: Writer) -> None:
        self._there = there
        self._texts = writer.articles(10**9)
        self._job: int | None = None
        self._took: dict[str, list[list[float]]] = {"idle": [], "down": [], "reindex": []}
        self._moved: list[tuple[int, float]] = []

    async def round(self, saves: int) -> None:
        await self._phase("idle", saves)
        await bench.set_embedder(self._there.site.connection, AWAY)
        try:
            await self._phase("down", saves)
        finally:
            await bench.set_embedder(self._there.site.connection, BUILTIN)
        job = await self._going()
        try:
            stage = await bench.stage(self._there.site.connection, PIPELINE)
            before, began = await self._until_moving(stage), time.monotonic()
            await self._phase("reindex", saves)
            after = await bench.finished(self._there.site.connection, stage)
            self._moved.append((after - before, time.monotonic() - began))
        finally:
            await self._pause(job)

    def figures(self, chunks_per_article: float) -> dict[str, Any]:
        """``ratio``: the median of what each round found."""
        pooled = {phase: [one for each in rounds for one in each] for phase, rounds in self._took.items()}
        p95 = {phase: round(percentile(values, _SHARE), 2) for phase, values in pooled.items()}
        p50 = {phase: round(percentile(values, 0.5), 2) for phase, values in pooled.items()}
        ratios = [
            percentile(busy, _SHARE) / percentile(idle, _SHARE)
            for busy, idle in zip(self._took["reindex"], self._took["idle"], strict=True)
        ]
        rate = sum(count for count, _ in self._moved) / sum(seconds for _, seconds in self._moved)
        return {
            "save_ms": p95,
            "save_p50_ms": p50,
            "save_down_ms": p95["down"],
            "save_reindex_ratio": round(median(ratios), 2),
            "reindex_chunks_per_second": round(rate * chunks_per_article),
        }

    async def _phase(self, name: str, saves: int) -> None:
        took = [one for _ in range(saves) for one in await self._save(next(self._texts))]
        self._took[name].append(took[_WARM_UP:])

    async def _save(self, text: Written) -> tuple[float, float]:
        """One article made, then changed; milliseconds of both."""
        client = self._there.client
        began = time.monotonic()
        made = await client.post("/api/articles", json={"title": text.title, "content": text.content})
        created = time.monotonic()
        made.raise_for_status()
        changed = {"content": f"{text.content}\n\nChanged.", "message": "more"}
        put = time.monotonic()
        answer = await client.put(made.headers["Location"], json=changed)
        ended = time.monotonic()
        answer.raise_for_status()
        return (created - began) * 1000, (ended - put) * 1000

    async def _going(self) -> int:
        """The re-index that was paused, or a new one."""
        async with self._there.app.connection() as connection:
            unfinished = [one for one in await reindexing.unfinished(connection) if one.job_id == self._job]
        if self._job is not None and unfinished:
            await jobs.resume(self._there.app, self._job, by=OWNER)
            return self._job
        self._job = await reindexing.start(self._there.search, reindexing.Plan(scope="all", force=True), OWNER)
        assert self._job is not None
        return self._job

    async def _pause(self, job: int) -> None:
        async with self._there.app.connection() as connection:
            running = [one.job_id for one in await reindexing.unfinished(connection)]
        if job in running:
            await jobs.pause(self._there.app, job, by=OWNER, reason="the bench measures something else")

    async def _until_moving(self, stage: int) -> int:
        before = await bench.finished(self._there.site.connection, stage)
        async with asyncio.timeout(_DEADLINE_SECONDS):
            while (now := await bench.finished(self._there.site.connection, stage)) == before:
                await asyncio.sleep(0.02)
        return now
