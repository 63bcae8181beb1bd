"""What becomes of one file: read whole, its content taken once, submitted, noted, and only then moved or deleted.

Order is everything here. The file is copied aside and hashed before anything is stored, so a file that is cut leaves
nothing. The content is then held in the ledger, where a unique index lets one file of the source have it, and the job's
idempotency key is made of the source and the content: whoever dies at any step, whoever else tries at the same time and
however the file is called by then, the second submit finds the first one's job.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any

import asyncpg

from penstock.application import Penstock
from penstock.console.files.refused import FileRefused
from penstock.console.files.sources.guard import CHUNK_BYTES
from penstock.console.files.sources.source import READING, Changed, Place, SourceUnreachable, Vanished
from penstock.console.files.submit import Submission, submit_file
from penstock.console.storage import sightings
from penstock.console.storage.sightings import Taken
from penstock.console.storage.sources import Source
from penstock.core.payload import clean_text
from penstock.errors import DatabaseError, PayloadTooLarge, PenstockError


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What became of a file in this scan. ``waiting`` means that the next scan tries again."""

    path: str
    state: str
    job_id: int | None = None
    problem: str | None = None


async def carry(app: Penstock, source: Source, place: Place, taken: Taken) -> Ending:
    """One file from its place to its job. Never raises for what is wrong with the file or its place."""
    with tempfile.TemporaryFile(prefix="penstock-") as copy:
        try:
            sha256 = await _copied(place, taken, copy, app.settings.max_upload_bytes)
            if (taken_before := await _hold(app, source, taken, sha256)) is not None:
                return taken_before
            return await _submit(app, source, taken, sha256, copy)
        except (FileRefused, PayloadTooLarge) as refused:
            return await _settle(app, taken, Ending(path=taken.path, state="refused", problem=str(refused)))
        except Vanished as gone:
            return await _settle(app, taken, Ending(path=taken.path, state="gone", problem=str(gone)))
        except DatabaseError:
            raise
        except PenstockError as fault:
            return await _release(app, taken, str(fault))
        except asyncio.CancelledError:
            # Nobody has to wait for the hold to end; if the job is there already, its key finds it.
            await _release(app, taken, "The scan was stopped.")
            raise


async def _copied(place: Place, taken: Taken, copy: IO[bytes], limit_bytes: int) -> bytes:
    """All of it or an error, so that nothing is ever made of a part."""
    digest, size_bytes = hashlib.sha256(), 0
    async for chunk in place.read(taken.path, taken.version):
        size_bytes += len(chunk)
        if size_bytes > limit_bytes:
            raise PayloadTooLarge(what=f"file {taken.path!r}", size_bytes=size_bytes, limit_bytes=limit_bytes)
        digest.update(chunk)
        try:
            await asyncio.to_thread(copy.write, chunk)
        except OSError as error:
            raise SourceUnreachable(f"There is no room for a copy of {taken.path!r}", error) from None
    if size_bytes != taken.size_bytes:
        raise Changed(taken.path, f"{taken.size_bytes:,} bytes were listed, {size_bytes:,} were read")
    return digest.digest()


async def _hold(app: Penstock, source: Source, taken: Taken, sha256: bytes) -> Ending | None:
    """None: the content is ours. An ending where another file of the source has it, or had it first."""
    async with app.connection() as connection:
        try:
            if await sightings.hold(connection, taken.id, sha256):
                return None
            return Ending(path=taken.path, state="waiting", problem="Somebody else has dealt with it meanwhile.")
        except asyncpg.UniqueViolationError:
            holder = await sightings.holder(connection, source.id, sha256)
    if holder is None or holder.state == "submitting":
        return await _release(app, taken, "Another file with the same content is being submitted.")
    same = "itself, unchanged" if holder.path == taken.path else repr(holder.path)
    ending = Ending(path=taken.path, state="duplicate", job_id=holder.job_id, problem=f"The same content as {same}.")
    return await _settle(app, taken, ending, sha256=sha256, cleared=source.after == "keep")


async def _submit(app: Penstock, source: Source, taken: Taken, sha256: bytes, copy: IO[bytes]) -> Ending:
    submission = _submission(source, taken, sha256)
    submitted = await submit_file(app, submission, _chunks(copy))
    ending = Ending(path=taken.path, state="submitted", job_id=submitted.job_id)
    return await _settle(app, taken, ending, sha256=sha256, cleared=source.after == "keep")


def _submission(source: Source, taken: Taken, sha256: bytes) -> Submission:
    reading: dict[str, Any] = {name: source.options[name] for name in READING if name in source.options}
    return Submission(
        owner=source.owner,
        pipeline=source.pipeline,
        file_name=PurePosixPath(taken.path).name,
        options={name: value for name, value in source.options.items() if name not in READING}
        | {"source": source.name, "path": taken.path},
        idempotency_key=f"source {source.id} {sha256.hex()}",
        **reading,
    )


async def _chunks(copy: IO[bytes]) -> AsyncIterator[bytes]:
    copy.seek(0)
    while chunk := await asyncio.to_thread(copy.read, CHUNK_BYTES):
        yield chunk


async def _settle(
    app: Penstock, taken: Taken, ending: Ending, *, sha256: bytes | None = None, cleared: bool = True
) -> Ending:
    async with app.connection() as connection:
        await sightings.settle(
            connection,
            taken.id,
            state=ending.state,
            sha256=sha256,
            job_id=ending.job_id,
            problem=None if ending.problem is None else clean_text(ending.problem, 1000),
            cleared=cleared,
        )
    return ending


async def _release(app: Penstock, taken: Taken, problem: str) -> Ending:
    async with app.connection() as connection:
        await sightings.release(connection, taken.id, clean_text(problem, 1000))
    return Ending(path=taken.path, state="waiting", problem=problem)


async def clear(app: Penstock, source: Source, place: Place, *, batch: int = 100) -> tuple[int, str | None]:
    """Move or delete what is safely stored, also what a scanner that died left behind. How many, and the last fault."""
    after_id, count, problem = 0, 0, None
    while source.after != "keep":
        async with app.connection() as connection:
            found = await sightings.uncleared(connection, source.id, after_id=after_id, limit=batch)
        if not found:
            break
        done = []
        for one in found:
            try:
                count += await _cleared(source, place, one)
                done.append(one.id)
            except SourceUnreachable as fault:
                problem = str(fault)
        async with app.connection() as connection:
            await sightings.cleared(connection, done)
        after_id = found[-1].id
    return count, problem


async def _cleared(source: Source, place: Place, one: Taken) -> bool:
    if source.target is not None:
        return await place.move(one.path, one.version, source.target)
    return await place.delete(one.path, one.version)
