"""`penstock bench ingest`: a CSV file through the whole intake, against COPY of the same rows.

`ratio` compares with COPY of the finished rows into the very tables they end in, with their indexes: what the intake
adds is storing the file, finding out what it is, reading it, and storing it in resumable batches. `flat_ratio` compares
with COPY of the CSV into a plain table of eight text columns without an index, which nothing could be processed from.
"""

import csv
import resource
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from penstock.console.files import importing
from penstock.console.files.importing import Importing
from penstock.console.files.submit import Submission, submit_file
from penstock.core.background import BackgroundTask
from penstock.storage import jobs, lanes
from penstock.terminal.session import Session
from penstock_bench import statements as bench
from penstock_bench.figures import Goal, Rounds, machine, median, ratio, tell
from penstock_bench.ground import Ground, Site, opened

COLUMNS = ("SKU", "Title", "Brand", "GTIN", "Price", "Currency", "URL", "Category")
_READ_BYTES = 1024 * 1024
GOALS = (
    Goal(key="ratio", least=0.5, meaning="A CSV through the whole intake, against COPY of the same rows."),
    Goal(key="peak_rss_mb", most=200, meaning="Memory stays flat, whatever the size of the file."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    rows: int = 1_000_000
    rounds: int = 3
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(rows=100_000, rounds=3, seconds=45)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The same rows as a CSV, and as COPY takes them for the tables."""

    table: Path
    tasks: Path
    queue: Path


async def ingest(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        figures = await measure(ground, sizes)
    tell(session, figures, figures["rounds"], GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    async with ground.site() as site:
        where = await machine(site.connection)
        importing.install(site.app)
        catalogue = _declare(site)
        await site.app.close()
        await site.app.open()
        stage = await bench.stage(site.connection, catalogue.name)
        ground.tell(f"writing {sizes.rows:,} rows")
        files = _write(ground.folder, sizes.rows, stage)
        rounds: list[dict[str, float]] = []
        for number in Rounds(sizes.rounds, ground.until(sizes.seconds)):
            took = {
                "ingest": await _ingest(site, catalogue, files, sizes.rows),
                "copy": await _copy(site, catalogue, files),
                "flat": await _flat(site, files),
            }
            rounds.append({name: round(sizes.rows / seconds) for name, seconds in took.items()})
            ground.tell(
                f"round {number} of {sizes.rounds}: " + ", ".join(f"{n} {r:,}/s" for n, r in rounds[-1].items())
            )
    return {
        "rows_per_second": round(median(one["ingest"] for one in rounds)),
        "copy_rows_per_second": round(median(one["copy"] for one in rounds)),
        "flat_rows_per_second": round(median(one["flat"] for one in rounds)),
        "ratio": ratio((one["ingest"], one["copy"]) for one in rounds),
        "flat_ratio": ratio((one["ingest"], one["flat"]) for one in rounds),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "rows": sizes.rows,
        "file_bytes": files.table.stat().st_size if files.table.exists() else None,
        "rounds": rounds,
        "machine": where,
    }


def _declare(site: Site) -> BackgroundTask[Any, Any]:
    @site.app.task(name="rows")
    async def rows(row: int, cells: list[str]) -> None:
        """Stored, never run."""

    return rows


def _write(folder: Path, count: int, stage: int) -> Files:
    """One row at a time: the bench's own memory counts as well."""
    files = Files(table=folder / "rows.csv", tasks=folder / "tasks.copy", queue=folder / "queue.copy")
    with files.table.open("w", newline="") as table, files.tasks.open("wb") as tasks, files.queue.open("wb") as queue:
        writer = csv.writer(table)
        writer.writerow(COLUMNS)
        for number in range(1, count + 1):
            cells = _cells(number)
            writer.writerow(cells)
            text = orjson.dumps({"row": number, "cells": cells}).replace(b"\\", b"\\\\")
            # The job and the lane are the only ones of their table.
            tasks.write(b"%d\t%d\t1\tbench\t%s\n" % (number, stage, text))
            queue.write(b"%d\t1\t%d\n" % (number, stage))
    return files


def _cells(number: int) -> list[str]:
    return [
        f"A-{number:08d}",
        f"Oak table, oiled, extendable, {number % 200 + 60} cm",
        ("Acme", "Borealis", "Cobalt")[number % 3],
        f"{4006381000000 + number:014d}",
        f"{number % 90000 / 100:.2f}",
        "EUR",
        f"https://shop.example/p/{number:08d}",
        "furniture > tables",
    ]


async def _ingest(site: Site, catalogue: BackgroundTask[Any, Any], files: Files, count: int) -> float:
    """From the first byte of the file to the last row that is stored."""
    await _emptied(site)
    started = time.monotonic()
    submission = Submission(owner="bench", pipeline=catalogue.name, file_name="rows.csv")
    submitted = await submit_file(site.app, submission, _chunks(files.table))
    result = await Importing(site.app, None, submitted.job_id).run()
    took = time.monotonic() - started
    if result != {"rows": count, "problem": None}:
        raise RuntimeError(f"the import ended with {result}")
    return took


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            yield chunk


async def _copy(site: Site, catalogue: BackgroundTask[Any, Any], files: Files) -> float:
    """The finished rows into the same two tables, in one transaction."""
    await _emptied(site)
    async with site.app.connection() as connection:
        job, _ = await jobs.create(
            connection, pipeline=catalogue.name, name=None, owner="bench", idempotency_key=None, metadata="{}"
        )
        await lanes.open_lane(
            connection, pipeline=catalogue.name, key=f"job:{job}", priority=0, owner="bench", job_id=job
        )
        started = time.monotonic()
        async with connection.transaction():
            await connection.copy_to_table(
                "tasks",
                schema_name="penstock",
                source=files.tasks,
                timeout=600,
                columns=("id", "entry", "job_id", "owner", "input"),
            )
            await connection.copy_to_table(
                "queue", schema_name="penstock", source=files.queue, timeout=600, columns=("task_id", "lane", "stage")
            )
        return time.monotonic() - started


async def _flat(site: Site, files: Files) -> float:
    await bench.flat_table(site.connection)
    await bench.settle_down(site.connection)
    started = time.monotonic()
    await site.connection.copy_to_table(
        "bench_flat", schema_name="penstock", source=files.table, format="csv", header=True, timeout=600
    )
    return time.monotonic() - started


async def _emptied(site: Site) -> None:
    await bench.empty_tables(site.connection)
    await bench.settle_down(site.connection)
