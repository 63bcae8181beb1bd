"""Makes projects out of datasets."""

import asyncio
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from penstock.apps.record_linking import projects, records
from penstock.apps.record_linking.dataset import Dataset, checked_roles, suggested_roles
from penstock.apps.record_linking.project import SOURCES, Options, Project, Role
from penstock.apps.record_linking.scoring.weights import Weights
from penstock.errors import InvalidSetting, UsageError

if TYPE_CHECKING:
    from penstock.apps.record_linking.shared import RecordLinking

_BATCH = 5000
_NAME_CHARACTERS = 200


async def create(
    linking: "RecordLinking",
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
    Weights.from_options(Options.of(options or {}, linking.app.settings).weights)
    if source not in SOURCES:
        raise InvalidSetting("source", source[:60], f"use {' or '.join(SOURCES)}")
    title = " ".join(name.split())
    if not 0 < len(title) <= _NAME_CHARACTERS or not title.isprintable():
        raise InvalidSetting("name", title[:50], f"use 1 to {_NAME_CHARACTERS} characters that can be shown")
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


async def _store(linking: "RecordLinking", connection: Any, project_id: int, dataset: Dataset) -> int:
    most, count = linking.app.settings.linking_max_records, 0
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
