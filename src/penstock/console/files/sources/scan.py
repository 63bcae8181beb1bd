"""Goes through sources: sees what is there, submits what is whole and new, says what became of each file.

A scan first lists everything and notes it, a batch a statement; only a listing that came to its end lets files be
taken. Several scanners may go through the same source at once.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, assert_never, cast

from penstock.application import Penstock
from penstock.console.files.sources import ftp, guard, ledger, registry, s3
from penstock.console.files.sources.folder import Folder
from penstock.console.files.sources.ledger import Ending
from penstock.console.files.sources.source import Place, Wanted
from penstock.console.files.submit import require_pipeline
from penstock.console.storage import sightings, sources
from penstock.console.storage.sightings import Seen
from penstock.console.storage.sources import NewSource, Source
from penstock.errors import DatabaseError, PenstockError

TASK = "penstock.scan"
# Long enough for a large file over a slow line; a scanner that needs longer shares the file, not the job.
_HOLD_SECONDS = 900.0
# One by one: a scanner that dies keeps no other file from the next one.
_TAKE = 1
_NAMED = 100


@dataclass(slots=True, kw_only=True)
class Report:
    """Of one scan of one source. ``files`` names the first of those that something happened to."""

    source: str
    seen: int = 0
    new: int = 0
    waiting: int = 0
    submitted: int = 0
    duplicate: int = 0
    refused: int = 0
    gone: int = 0
    failed: int = 0
    cleared: int = 0
    more: bool = False
    dry_run: bool = False
    problem: str | None = None
    files: list[Ending] = field(default_factory=list)

    def note(self, ending: Ending) -> None:
        match ending.state:
            case "submitted":
                self.submitted += 1
            case "duplicate":
                self.duplicate += 1
            case "refused":
                self.refused += 1
            case "gone":
                self.gone += 1
            case _:
                self.failed += 1
        self.name(ending)

    def name(self, ending: Ending) -> None:
        if len(self.files) < _NAMED:
            self.files.append(ending)


@asynccontextmanager
async def opened(app: Penstock, source: NewSource) -> AsyncIterator[Place]:
    """The guard is asked each time: settings and names may have changed since the source was added."""
    allow_private = app.settings.private_networks
    kind = cast(Literal["folder", "s3", "ftp"], source.kind)
    match kind:
        case "folder":
            yield Folder(guard.allowed_folder(source.place["path"], app.settings.file_roots), Wanted(source))
        case "s3":
            async with s3.opened(source, allow_private=allow_private) as bucket:
                yield bucket
        case "ftp":
            async with ftp.opened(source, allow_private=allow_private) as server:
                yield server
        case _:
            assert_never(kind)


async def scan(app: Penstock, source: Source, *, limit_seconds: float | None = None) -> Report:
    """Faults of the place are part of the report; only those of the database are raised. Past ``limit_seconds`` no
    further file is begun, and ``more`` is set."""
    report = Report(source=source.name)
    deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
    whole = False
    try:
        require_pipeline(app, source.pipeline)
        async with opened(app, source) as place:
            number = await _see(app, source, place, report)
            whole = True
            if number is not None:
                await _submit(app, source, place, number, report, deadline)
                report.cleared, report.problem = await ledger.clear(app, source, place)
    except DatabaseError:
        raise
    except PenstockError as fault:
        report.problem = str(fault)
    async with app.connection() as connection:
        await sources.scanned(connection, source.id, problem=report.problem, whole=whole)
    return report


async def _see(app: Penstock, source: Source, place: Place, report: Report) -> int | None:
    """The number of the scan, once all of the listing is noted. None: the source is gone."""
    async with app.connection() as connection:
        number = await sources.next_scan(connection, source.id)
    if number is None:
        return None
    async for entries in place.listing():
        batch = _distinct(entries)
        report.seen += len(batch)
        async with app.connection() as connection:
            report.new += await sightings.observe(connection, source.id, number, batch)
    async with app.connection() as connection:
        await sightings.replace(connection, source.id, number)
        missed = await sightings.miss(connection, source.id, number)
    for path in missed:
        report.note(Ending(path=path, state="gone"))
    return number


def _distinct(entries: Sequence[Seen]) -> list[Seen]:
    """A server may name a file twice; a statement may not."""
    return list({(one.path, one.version): one for one in entries}.values())


async def _submit(
    app: Penstock, source: Source, place: Place, number: int, report: Report, deadline: float | None
) -> None:
    stable_seconds = max(source.stable_seconds, place.settling_seconds) if place.settling_seconds else 0.0
    while deadline is None or time.monotonic() < deadline:
        async with app.connection() as connection:
            taken = await sightings.take(
                connection, source.id, number, stable_seconds=stable_seconds, hold_seconds=_HOLD_SECONDS, limit=_TAKE
            )
        if not taken:
            break
        for one in taken:
            report.note(await ledger.carry(app, source, place, one))
    else:
        report.more = True
    async with app.connection() as connection:
        report.waiting = await sightings.waiting(connection, source.id, number)


async def preview(app: Penstock, source: Source, *, limit_seconds: float | None = None) -> Report:
    """A dry run: what is there and what is known about it. Writes nothing and reads no file."""
    report = Report(source=source.name, dry_run=True)
    try:
        async with asyncio.timeout(limit_seconds), opened(app, source) as place:
            async for entries in place.listing():
                await _compare(app, source, _distinct(entries), report)
    except TimeoutError:
        report.more = True
        report.problem = f"The listing takes longer than {limit_seconds:g} s. The counts are of what came so far."
    except DatabaseError:
        raise
    except PenstockError as fault:
        report.problem = str(fault)
    return report


async def _compare(app: Penstock, source: Source, batch: Sequence[Seen], report: Report) -> None:
    report.seen += len(batch)
    async with app.connection() as connection:
        known = await sightings.states(connection, source.id, [one.key for one in batch])
    for one in batch:
        state = known.get(one.key, "new")
        report.new += state == "new"
        report.waiting += state in ("seen", "submitting")
        report.name(Ending(path=one.path, state=state))


async def scan_all(
    app: Penstock, *, owner: str | None = None, dry_run: bool = False, limit_seconds: float | None = None
) -> list[Report]:
    """Every enabled source, one after the other; of one owner, or everybody's."""
    deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
    reports: list[Report] = []
    after = ""
    while page := await registry.page(app, owner=owner, after=after):
        for source in page:
            if not source.enabled:
                continue
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            reports.append(await (preview if dry_run else scan)(app, source, limit_seconds=left))
        after = page[-1].name
    return reports


def install(app: Penstock) -> None:
    """The task that a schedule fires: ``penstock.scan``, of one source or of all that are enabled."""
    if TASK in app.pipelines:
        return

    @app.task(name=TASK, pool=1, timeout=6 * 3600, internal=True)
    async def scan_sources(source: str | None = None) -> list[dict[str, Any]]:
        if source is not None:
            return [asdict(await scan(app, await registry.find(app, source)))]
        return [asdict(report) for report in await scan_all(app)]
