"""`penstock bench search`: a hundred thousand chunks embedded, stored, indexed and searched; and saves beside all that.

Articles are saved as an import does, embedded by a real runner process, and searched over the service's own routes.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from penstock.console.http.server import configure_logs
from penstock.extensions.articles.names import BUILTIN
from penstock.extensions.articles.near import Filter
from penstock.extensions.articles.near.exact import Exact
from penstock.terminal.session import Session
from penstock_bench.figures import Goal, Rounds, machine, percentile, tell
from penstock_bench.ground import Ground, opened
from penstock_bench.search_corpus import Writer
from penstock_bench.search_filling import Filled, fill, save_all
from penstock_bench.search_saves import Saves
from penstock_bench.search_site import Memory, SearchSite, opened_site

_HITS = 10
_WARM_UP = 20
_LOAD_DEADLINE_SECONDS = 120.0
_LOOK_SECONDS = 0.005
_SLACK = 2e-6
# A search reads so many articles by meaning before it fuses them with those by words; the first ten are what counts.
_DEPTH = 100
GOALS = (
    Goal(key="p95_ms", most=50, meaning="One hybrid search, from the request to the answer with its marks."),
    Goal(key="recall_at_10", least=0.95, meaning="Of the ten nearest articles, how many a search finds."),
    Goal(key="chunks_per_second", least=2000, meaning="Embedded and stored."),
    Goal(key="peak_rss_mb", most=600, meaning="The worker and the process that answers, together."),
    Goal(key="save_down_ms", most=30, meaning="A save while the embedder does not answer, 95th percentile."),
    Goal(key="save_reindex_ratio", most=2, meaning="Saves while everything is re-indexed, against idle."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``saves``: articles made and changed in each part of a round."""

    chunks: int = 100_000
    queries: int = 400
    batch_size: int = 64
    saves: int = 50
    rounds: int = 4
    seed: int = 5
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(chunks=20_000, queries=300, saves=25, rounds=3, seconds=55)


async def search(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        configure_logs(ground.settings)
        figures = await measure(ground, sizes)
    rows = [{"figure": goal.key, "measured": figures[goal.key], "goal": goal.text} for goal in GOALS]
    tell(session, figures, rows, GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    writer = Writer(sizes.seed)
    async with opened_site(ground, sizes.batch_size) as there:
        where = await machine(there.site.connection)
        articles, saving_seconds = await save_all(there, writer, sizes.chunks)
        async with there.fleet() as fleet:
            async with _watched([runner.pid for runner in fleet.supervisor.runners]) as memory:
                filled = await fill(there, fleet, articles, saving_seconds)
                queries = writer.queries(_WARM_UP + sizes.queries)
                await _until_loaded(there, queries[0])
                searched = await _searches(there, queries)
            recall = await _recall(there, queries[_WARM_UP:])
            ground.tell(f"searched: p95 {searched['p95_ms']} ms, recall {recall['recall_at_10']}")
            saves = Saves(there, writer)
            for number in Rounds(sizes.rounds, ground.until(sizes.seconds)):
                await saves.round(sizes.saves)
                ground.tell(f"saves: round {number} of {sizes.rounds}")
    figures = _figures(filled, searched, recall, memory) | saves.figures(filled.chunks / filled.articles)
    verdicts = {goal.key: goal.met(figures[goal.key]) for goal in GOALS}
    return {**figures, "goals_met": verdicts, "batch_size": sizes.batch_size, "machine": where}


def _figures(filled: Filled, searched: dict[str, Any], recall: dict[str, float], memory: Memory) -> dict[str, Any]:
    return {
        "p50_ms": searched["p50_ms"],
        "p95_ms": searched["p95_ms"],
        **recall,
        "peak_rss_mb": memory.peak_mb("both"),
        "worker_rss_mb": memory.peak_mb("worker"),
        "service_rss_mb": memory.peak_mb("service"),
        **filled.figures(),
        **searched,
    }


@asynccontextmanager
async def _watched(runners: Sequence[int]) -> AsyncIterator[Memory]:
    memory = Memory(runners=tuple(runners))
    watching = asyncio.create_task(memory.watch())
    try:
        yield memory
    finally:
        watching.cancel()


async def _searches(there: SearchSite, queries: Sequence[str]) -> dict[str, Any]:
    """The first ones warm up. Words and vectors of a query are asked for once, so nothing is remembered."""
    took: list[float] = []
    parts: dict[str, list[float]] = {}
    found = 0
    for query in queries:
        began = time.monotonic()
        answer = await there.client.get("/api/search", params={"q": query, "limit": str(_HITS)})
        took.append((time.monotonic() - began) * 1000)
        answer.raise_for_status()
        body = answer.json()
        found += bool(body["items"])
        for part, milliseconds in body["tookMs"].items():
            parts.setdefault(part, []).append(milliseconds)
    counted = took[_WARM_UP:]
    return {
        "p50_ms": round(percentile(counted, 0.5), 2),
        "p95_ms": round(percentile(counted, 0.95), 2),
        "longest_ms": round(max(counted), 2),
        "parts_p95_ms": {part: round(percentile(values[_WARM_UP:], 0.95), 2) for part, values in parts.items()},
        "queries": len(counted),
        "queries_with_hits": found,
    }


async def _until_loaded(there: SearchSite, query: str) -> None:
    """A search tells the service how much has changed, if it has not found out by itself."""
    generation = await there.generation()
    async with asyncio.timeout(_LOAD_DEADLINE_SECONDS):
        (await there.client.get("/api/search", params={"q": query})).raise_for_status()
        while not there.serving.near.holds(generation):
            await asyncio.sleep(_LOOK_SECONDS)


async def _recall(there: SearchSite, queries: Sequence[str]) -> dict[str, float]:
    """Against every vector, read anew and compared by numpy: of the service, and of a process that asks the server.

    An article as near as the tenth is as good as it; the server adds up in single precision. ``load_seconds``: how long
    the reading took.
    """
    generation = await there.generation()
    exact = Exact(generation)
    vectors = await there.search.embedders.get(BUILTIN).embed(queries, purpose="query")
    ways = {"recall_at_10": there.serving.near, "index_recall_at_10": there.search.near}
    found, wanted = dict.fromkeys(ways, 0), 0
    async with there.app.connection() as connection:
        began = time.monotonic()
        await exact.refresh(connection)
        load_seconds = time.monotonic() - began
        for vector in vectors:
            best = await exact.nearest(connection, vector, wanted=Filter(), limit=_HITS)
            least = best[-1].similarity - _SLACK if best else 0.0
            wanted += len(best)
            for key, near in ways.items():
                got = await near.nearest(connection, generation, vector, wanted=Filter(), limit=_DEPTH)
                found[key] += sum(one.similarity >= least for one in got[:_HITS])
    return {key: round(count / wanted, 4) for key, count in found.items()} | {"load_seconds": round(load_seconds, 2)}
