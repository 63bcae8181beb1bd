"""Changes a project: its name, what its columns mean, how it is matched."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.apps.record_linking import projects
from penstock.apps.record_linking.dataset import checked_roles
from penstock.apps.record_linking.project import Options, Project
from penstock.apps.record_linking.projects import ProjectNotFound
from penstock.apps.record_linking.scoring.weights import Weights
from penstock.errors import InvalidSetting

if TYPE_CHECKING:
    from penstock.apps.record_linking.shared import RecordLinking

_NAME_CHARACTERS = 200


async def change(
    linking: "RecordLinking",
    project_id: int,
    *,
    name: str | None = None,
    roles: Mapping[str, Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Project:
    """``options``: those named change, and None takes one back to its setting. Nothing is matched or ranked by this:
    `match` with the scope ``changed`` and `rerank` do that."""
    title = None if name is None else " ".join(name.split())
    if title is not None and (not 0 < len(title) <= _NAME_CHARACTERS or not title.isprintable()):
        raise InvalidSetting("name", title[:50], f"use 1 to {_NAME_CHARACTERS} characters that can be shown")
    async with linking.app.connection() as connection, connection.transaction():
        project = await projects.get_for_update(connection, project_id)
        if project is None:
            raise ProjectNotFound(project_id)
        checked = None if roles is None else checked_roles(project.columns, roles)
        whole = None if options is None else merged(project.options, options)
        if whole is not None:
            Weights.from_options(Options.of(whole, linking.app.settings).weights)
        changed = await projects.change(connection, project_id, name=title, roles=checked, options=whole)
    if changed is None:
        raise ProjectNotFound(project_id)
    return changed


def merged(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**stored, **given}.items() if value is not None}
