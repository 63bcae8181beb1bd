"""`penstock bench export`: the stored rows of one job as CSV and as XLSX, the way the service hands them out.

The client takes every chunk at once and keeps nothing, so the figures are those of the export.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
import psutil

from penstock.console.files.export import csv_file
from penstock.console.files.export.layout import layout_of
from penstock.console.files.export.xlsx_process import CHUNK_BYTES, written
from penstock.storage import jobs, lanes
from penstock.terminal.session import Session
from penstock_bench import statements as bench
from penstock_bench.figures import Goal, Rounds, machine, median, tell
from penstock_bench.ground import Ground, Site, opened

_FILL_ROWS = 100_000
_LOOK_SECONDS = 0.05
_COLUMNS = ("SKU", "Title", "Brand", "EAN", "Price", "Stock", "Category", "Description")
_RESULT_COLUMNS = ("Title found", "Retailer", "Price found", "Address")
_WRITER = "penstock.console.files.export.xlsx_file"
GOALS = (
    Goal(key="csv_rows_per_second", least=150_000, meaning="Eight columns that came in, four that were found."),
    Goal(key="xlsx_rows_per_second", least=50_000, meaning="The same rows as a workbook."),
    Goal(key="peak_rss_mb", most=250, meaning="This process and the one that writes workbooks, together."),
    Goal(key="first_byte_ms", most=1000, meaning="From the call to the first bytes of a CSV."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    rows: int = 1_000_000
    rounds: int = 3
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(rows=300_000, seconds=45)


class Memory:
    """The most that this process and the writers below it held together, looked at twenty times a second."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._writers: dict[int, psutil.Process] = {}

    def look(self) -> None:
        me = psutil.Process()
        for child in me.children():
            if child.pid not in self._writers and _is_writer(child):
                self._writers[child.pid] = child
        held = sum(_rss_bytes(one) for one in (me, *self._writers.values()))
        self.peak_bytes = max(self.peak_bytes, held)

    async def watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)


async def export(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        figures = await measure(ground, sizes)
    tell(session, figures, figures["rounds"], GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    memory = Memory()
    async with ground.site() as site:
        where = await machine(site.connection)
        job = await _filled(site, sizes.rows)
        await bench.settle_down(site.connection)
        watching = asyncio.create_task(memory.watch())
        try:
            found = []
            for number in Rounds(sizes.rounds, ground.until(sizes.seconds)):
                found.append(await _round(site, job, sizes.rows))
                ground.tell(f"round {number} of {sizes.rounds}: {found[-1]}")
        finally:
            watching.cancel()
    keys = ("csv_rows_per_second", "xlsx_rows_per_second", "first_byte_ms")
    return {
        **{key: round(median(one[key] for one in found)) for key in keys},
        "peak_rss_mb": round(memory.peak_bytes / 2**20),
        "rows": sizes.rows,
        "xlsx_mb": found[-1]["xlsx_mb"],
        "csv_mb": found[-1]["csv_mb"],
        "rounds": found,
        "machine": where,
    }


async def _filled(site: Site, rows: int) -> int:
    connection = site.connection
    metadata = {"type": "csv", "columns": _COLUMNS, "result_columns": _RESULT_COLUMNS}
    job, _ = await jobs.create(
        connection,
        pipeline="noop",
        name="export",
        owner=None,
        idempotency_key=None,
        metadata=orjson.dumps(metadata).decode(),
    )
    lane = await lanes.open_lane(connection, pipeline="noop", key=f"job:{job}", priority=0, owner=None, job_id=job)
    stage = await bench.stage(connection, "noop")
    for first in range(1, rows + 1, _FILL_ROWS):
        last = min(first + _FILL_ROWS - 1, rows)
        await bench.fill_rows(connection, stage=stage, job_id=job, lane=lane, first=first, last=last)
        site.ground.tell(f"{last:,} rows are filled in")
    return job


async def _round(site: Site, job: int, rows: int) -> dict[str, float]:
    csv_seconds, csv_bytes, first_ms = await _csv(site, job)
    xlsx_seconds, xlsx_bytes = await _timed(lambda: _xlsx(site, job))
    return {
        "csv_rows_per_second": round(rows / csv_seconds),
        "xlsx_rows_per_second": round(rows / xlsx_seconds),
        "first_byte_ms": round(first_ms),
        "csv_mb": round(csv_bytes / 2**20),
        "xlsx_mb": round(xlsx_bytes / 2**20),
    }


async def _csv(site: Site, job: int) -> tuple[float, int, float]:
    """(seconds, bytes, ms to the first of them)."""
    began, size, first_ms = time.monotonic(), 0, 0.0
    async for chunk in csv_file.stream(site.app, await layout_of(site.app, job)):
        first_ms = first_ms or (time.monotonic() - began) * 1000
        size += len(chunk)
    return time.monotonic() - began, size, first_ms


async def _xlsx(site: Site, job: int) -> int:
    size = 0
    async with written(site.app, await layout_of(site.app, job)) as made:
        while chunk := made.file.read(CHUNK_BYTES):
            size += len(chunk)
    return size


async def _timed(work: Callable[[], Awaitable[int]]) -> tuple[float, int]:
    began = time.monotonic()
    size = await work()
    return time.monotonic() - began, size


def _is_writer(process: psutil.Process) -> bool:
    """Not the server, which may be a child of ours as well."""
    try:
        return process.pid != os.getpid() and _WRITER in process.cmdline()
    except psutil.Error:
        return False


def _rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
