"""`penstock bench enqueue`: the public API against the same statements with parameters that were made beforehand.

The difference is what Python does per task: bind, check and encode its arguments.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.enqueue import COPY_FROM
from penstock.core.payload import encode
from penstock.model import MAX_INPUT_BYTES
from penstock.storage import jobs, lanes
from penstock.storage.queries import load
from penstock.terminal.session import Session
from penstock_bench import statements as bench
from penstock_bench.bench_app import sample
from penstock_bench.figures import Goal, Rounds, machine, median, percentile, ratio, tell
from penstock_bench.ground import Ground, Site, opened

_COLUMNS = ("id", "entry", "job_id", "owner", "input", "options", "trace")
_PLACE = ("task_id", "lane", "stage", "run_at", "max_attempts")
_COPY_ROWS = 20_000
GOALS = (Goal(key="ratio", least=0.6, meaning="Storing a batch through the API, against the bare insert of it."),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``batches``: rows per call, each measured on its own; the ratio is the worst of them."""

    batches: tuple[int, ...] = (1_000, 20_000, 100_000)
    least_rows: int = 100_000
    rounds: int = 7
    single: int = 3_000
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(batches=(1_000, 20_000), least_rows=20_000, rounds=3, single=500, seconds=45)


async def enqueue(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        figures = await measure(ground, sizes)
    tell(session, figures, figures["batches"], GOALS)
    if not session.out.json:
        single = figures["single"]
        session.out.stdout.write(
            f"One by one: {single['tasks_per_second']:,}/s, {single['p50_ms']} ms at the median,"
            f" {single['p99_ms']} ms at the 99th percentile.\n"
        )


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    async with ground.site() as site:
        where = await machine(site.connection)
        inputs = [sample(number) for number in range(max(sizes.batches))]
        texts = [encode(one, what="input", limit_bytes=MAX_INPUT_BYTES) for one in inputs]
        found: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes.batches}
        for number in Rounds(sizes.rounds, ground.until(sizes.seconds)):
            for size in sizes.batches:
                calls = max(1, sizes.least_rows // size)
                through_api = await _through_api(site, inputs[:size], calls)
                found[size].append((through_api, await _bare(site, texts[:size], calls)))
            site.ground.tell(f"round {number} of {sizes.rounds}: {_shown(found)}")
        single = await _single(site, sizes.single)
    batches = [_batch(size, pairs) for size, pairs in found.items()]
    worst = min(batches, key=lambda one: one["ratio"])
    return {
        "tasks_per_second": worst["tasks_per_second"],
        "raw_tasks_per_second": worst["raw_tasks_per_second"],
        "ratio": worst["ratio"],
        "batches": batches,
        "single": single,
        "machine": where,
    }


async def _through_api(site: Site, inputs: Sequence[dict[str, Any]], calls: int) -> float:
    """Rows per second."""
    await bench.settle_down(site.connection)
    started = time.monotonic()
    for _ in range(calls):
        await site.tasks.noop.enqueue_many(inputs)
    return calls * len(inputs) / (time.monotonic() - started)


async def _bare(site: Site, texts: Sequence[str], calls: int) -> float:
    """The statements of the same calls: a job, a lane, the rows, a wake-up; all in one transaction."""
    await bench.settle_down(site.connection)
    stage = await bench.stage(site.connection, "noop")
    sql = load("tasks")
    async with site.app.connection() as connection:
        started = time.monotonic()
        for _ in range(calls):
            async with connection.transaction():
                job, _ = await jobs.create(
                    connection, pipeline="noop", name=None, owner=None, idempotency_key=None, metadata="{}"
                )
                lane = await lanes.open_lane(
                    connection, pipeline="noop", key=f"job:{job}", priority=0, owner=None, job_id=job
                )
                if len(texts) >= COPY_FROM:
                    await _copy(connection, sql, stage, job, lane, texts)
                else:
                    await connection.fetchrow(
                        sql.enqueue_many, stage, job, None, None, None, texts, lane, None, None, 3
                    )
                await connection.execute(sql.wake, "noop")
        return calls * len(texts) / (time.monotonic() - started)


async def _copy(connection: Any, sql: Any, stage: int, job: int, lane: int, texts: Sequence[str]) -> None:
    for first in range(0, len(texts), _COPY_ROWS):
        chunk = texts[first : first + _COPY_ROWS]
        drawn = await connection.fetchrow(sql.draw_ids, len(chunk), None, None)
        records = [(task, stage, job, None, text, None, None) for task, text in zip(drawn["ids"], chunk, strict=True)]
        await connection.copy_records_to_table("tasks", schema_name="penstock", columns=_COLUMNS, records=records)
        places = [(task, lane, stage, drawn["run_at"], 3) for task in drawn["ids"]]
        await connection.copy_records_to_table("queue", schema_name="penstock", columns=_PLACE, records=places)
        await connection.execute(sql.count_copied, lane, stage, len(chunk))


async def _single(site: Site, count: int) -> dict[str, float]:
    """One after the other, each waiting for its commit."""
    took: list[float] = []
    began = time.monotonic()
    for number in range(count):
        started = time.monotonic()
        await site.tasks.noop.enqueue(**sample(number))
        took.append((time.monotonic() - started) * 1000)
    rate = count / (time.monotonic() - began)
    return {
        "tasks_per_second": round(rate),
        "p50_ms": round(percentile(took, 0.5), 3),
        "p99_ms": round(percentile(took, 0.99), 3),
    }


def _batch(size: int, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    through_api, raw = median(one for one, _ in pairs), median(one for _, one in pairs)
    return {
        "rows_per_call": size,
        "tasks_per_second": round(through_api),
        "raw_tasks_per_second": round(raw),
        "ratio": ratio(pairs),
    }


def _shown(found: dict[int, list[tuple[float, float]]]) -> str:
    return ", ".join(
        f"{size:,} a call {pairs[-1][0]:,.0f}/s (bare {pairs[-1][1]:,.0f}/s)" for size, pairs in found.items()
    )
