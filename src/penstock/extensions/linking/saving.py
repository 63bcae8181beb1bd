"""Makes projects out of datasets; changes their names, what their columns mean and how they are matched."""

import asyncio
from collections.abc import Mapping
from itertools import islice
from typing import Any

from penstock.errors import InvalidSetting, UsageError
from penstock.extensions.linking import projects, records
from penstock.extensions.linking.dataset import Dataset, checked_roles, suggested_roles
from penstock.extensions.linking.project import SOURCES, Options, Project, Role
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.shared import RecordLinking

_BATCH = 5000
_NAME_CHARACTERS = 200


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
        project = await projects.require_for_update(connection, project_id)
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
