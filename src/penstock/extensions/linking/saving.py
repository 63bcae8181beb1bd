"""Makes projects out of datasets; changes their names, what their columns mean and how they are matched; deletes them.

A project is gone at once for everybody who looks or writes, and little by little in the tables. What sources answered
is used again for ``linking_cache_days``, and kept longer for rankings, which ask nobody.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from penstock import IllegalMove
from penstock.control import jobs as job_steering
from penstock.errors import InvalidSetting, JobNotFound, UsageError
from penstock.extensions.linking import cache, projects, records
from penstock.extensions.linking.dataset import Dataset, checked_roles, suggested_roles
from penstock.extensions.linking.project import SOURCES, Options, Project, Role
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.shared import RecordLinking

_BATCH = 5000
_NAME_CHARACTERS = 200
_RECORDS = 1000
_PROJECTS = 20
_UPKEEP = "upkeep"
# So many times the days of the cache: then records of that age are left as they are by a ranking.
KEPT_TIMES = 6
_ANSWERS = 5000


async def create(
    linking: RecordLinking,
    dataset: Dataset,
    *,
    name: str,
    owner: str,
    source: str = "wikidata",
    roles: Mapping[str, Mapping[str, Any] | Role] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Project:
    """The project with all of its records, or nothing. ``roles`` None: those that the names of the columns suggest."""
    checked = checked_roles(dataset.columns, suggested_roles(dataset.columns) if roles is None else roles)
    _check_options(linking, options or {})
    if source not in SOURCES:
        raise InvalidSetting("source", source[:60], f"use {' or '.join(SOURCES)}")
    title = _title(name)
    async with linking.app.connection() as connection, connection.transaction():
        project = await projects.create(
            connection,
            name=title,
            owner=owner,
            source=source,
            columns=dataset.columns,
            roles=checked,
            options=options or {},
        )
        count = await _store(linking, connection, project.id, dataset)
    linking.app.events.emit("linking.created", project=project.id, records=count, by=owner)
    return project


async def change(
    linking: RecordLinking,
    project_id: int,
    *,
    name: str | None = None,
    roles: Mapping[str, Mapping[str, Any] | Role] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Project:
    """``options``: those named change, and None takes one back to its setting. Nothing is matched or ranked by this:
    `match` with the scope ``changed`` and `rerank` do that."""
    title = None if name is None else _title(name)
    async with linking.app.connection() as connection, connection.transaction():
        project = await projects.require(connection, project_id, for_update=True)
        checked = None if roles is None else checked_roles(project.columns, roles)
        whole = None
        if options is not None:
            whole = {key: value for key, value in {**project.options, **options}.items() if value is not None}
            _check_options(linking, whole)
        return await projects.change(connection, project_id, name=title, roles=checked, options=whole)


def _title(name: str) -> str:
    title = " ".join(name.split())
    if not 0 < len(title) <= _NAME_CHARACTERS or not title.isprintable():
        raise InvalidSetting("name", title[:50], f"use 1 to {_NAME_CHARACTERS} characters that can be shown")
    return title


def _check_options(linking: RecordLinking, options: Mapping[str, Any]) -> None:
    Weights.from_options(Options.of(options, linking.app.settings).weights)


async def _store(linking: RecordLinking, connection: Any, project_id: int, dataset: Dataset) -> int:
    most, count = linking.app.settings.of(LinkingSettings).max_records, 0
    while batch := await asyncio.to_thread(lambda: list(islice(dataset.rows, _BATCH))):
        if count + len(batch) > most:
            raise UsageError(
                f"The dataset has more than {most:,} records. Split it, or raise PENSTOCK_LINKING_MAX_RECORDS."
            )
        await records.copy(connection, project_id, count + 1, batch)
        count += len(batch)
    if not count:
        raise UsageError("The dataset has no records. Give one with a header and at least one row.")
    return count


async def delete(linking: RecordLinking, project_id: int, by: str) -> None:
    """The mark waits for tasks that are writing and turns away those that come later; then the jobs go, then the rows.
    Where this process dies in between, upkeep goes on."""
    app = linking.app
    async with app.connection() as connection:
        project = await projects.require(connection, project_id)
        job_ids = await projects.mark_deleted(connection, project_id)
    await _delete_jobs(linking, job_ids, by)
    async with app.connection() as connection:
        await cache.free_lost(connection, project.source)
    await _remove(linking, project_id)
    app.events.emit("linking.deleted", project=project_id, by=by)


async def remove_deleted(linking: RecordLinking) -> int:
    """What deletes left behind whose process died; returns how many projects. The row of a project names its jobs, so
    it goes last."""
    async with linking.app.connection() as connection:
        marked = await projects.deleted(connection, _PROJECTS)
    for project_id, job_ids in marked.items():
        await _delete_jobs(linking, job_ids, _UPKEEP)
        await _remove(linking, project_id)
    return len(marked)


async def _delete_jobs(linking: RecordLinking, job_ids: Sequence[int], by: str) -> None:
    """Those that are gone already, by an earlier try or by somebody's hand, are no fault."""
    for job_id in job_ids:
        with suppress(IllegalMove, JobNotFound, UsageError):
            await job_steering.delete(linking.app, job_id, by=by)


async def _remove(linking: RecordLinking, project_id: int) -> None:
    while True:
        async with linking.app.connection() as connection:
            if not await projects.remove_records(connection, project_id, _RECORDS):
                await projects.remove(connection, project_id)
                return


async def forget_old(linking: RecordLinking) -> int:
    """Answers first, and entities a cache's age later: an answer that is kept finds the entities it names."""
    days = linking.app.settings.of(LinkingSettings).cache_days
    total = 0
    for forget, times in ((cache.forget_searches, KEPT_TIMES), (cache.forget_entities, KEPT_TIMES + 1)):
        gone = _ANSWERS
        while gone == _ANSWERS:
            async with linking.app.connection() as connection:
                gone = await forget(connection, times * days, _ANSWERS)
            total += gone
    return total
