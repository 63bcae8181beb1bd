"""Which sources there are: add, find, list, remove. The same rules for the HTTP service and the command line."""

import asyncio

from penstock.application import Penstock
from penstock.console.files.sources import guard, source
from penstock.console.storage import sightings, sources, users
from penstock.console.storage.sightings import Sighting
from penstock.console.storage.sources import NewSource, Source
from penstock.control.acting import By
from penstock.core.payload import encode
from penstock.errors import NotKnown, UnknownTask, UsageError
from penstock.storage import audit

__all__ = ["NewSource", "Sighting", "Source", "add", "files", "find", "page", "remove"]

_MOST_ID = 2**63 - 1
_MOST_OPTIONS_BYTES = 16 * 1024


async def add(app: Penstock, new: NewSource, *, by: By) -> Source:
    """Refused where it could never submit anything: unknown owner or pipeline, options that the pipeline
    refuses, a folder outside of the allowed ones."""
    source.check(new)
    encode(new.options, what="options of the source", limit_bytes=_MOST_OPTIONS_BYTES)
    if new.kind == "folder":
        await asyncio.to_thread(guard.allowed_folder, new.place["path"], app.settings.file_roots)
    async with app.connection() as connection, connection.transaction():
        if await users.by_name(connection, new.owner) is None:
            raise UsageError(
                f"There is no user {new.owner[:100]!r} to own the jobs. `penstock users create` makes one."
            )
        if new.pipeline not in app.pipelines and not await sources.pipeline_known(connection, new.pipeline):
            raise UnknownTask(new.pipeline, app.pipelines)
        if new.pipeline in app.pipelines:
            app.pipelines[new.pipeline].job_metadata({"options": new.options})
        if await sources.create(connection, new) is None:
            raise UsageError(f"There is a source {new.name!r} already. Remove that one, or choose another name.")
        entry = by.entry("source.add", kind="source", object=new.name, owner=new.owner, source_kind=new.kind)
        await audit.append(connection, entry)
    return await find(app, new.name)


async def find(app: Penstock, name: str) -> Source:
    async with app.connection() as connection:
        found = await sources.get(connection, name)
    if found is None:
        raise NotKnown(kind="source", name=name[:100])
    return found


async def page(app: Penstock, *, owner: str | None = None, after: str = "", limit: int = 500) -> list[Source]:
    async with app.connection() as connection:
        return await sources.page(connection, owner=owner, after=after, limit=limit)


async def remove(app: Penstock, name: str, *, by: By) -> None:
    """Forgets what was seen there: the same source added again starts anew. Jobs stay."""
    found = await find(app, name)
    async with app.connection() as connection, connection.transaction():
        if not await sources.delete(connection, name):
            raise NotKnown(kind="source", name=name[:100])
        await audit.append(connection, by.entry("source.remove", kind="source", object=name, owner=found.owner))


async def files(
    app: Penstock, found: Source, *, state: str | None = None, before_id: int = _MOST_ID, limit: int = 100
) -> list[Sighting]:
    """What became of its files, newest first."""
    async with app.connection() as connection:
        return await sightings.page(connection, found.id, before_id=before_id, state=state, limit=limit)
