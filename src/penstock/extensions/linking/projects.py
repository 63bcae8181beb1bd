"""Projects in the database. One function per query of ``sql/projects.sql``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from penstock.errors import NotKnown
from penstock.extensions.linking.project import Project, Role
from penstock.storage.queries import load

_sql = load("projects", "penstock.extensions.linking")
Connection = Any


class ProjectNotFound(NotKnown):
    """Gone, deleted, or somebody else's."""

    def __init__(self, project_id: int) -> None:
        super().__init__(kind="project", name=str(project_id))


async def create(
    connection: Connection,
    *,
    name: str,
    owner: str,
    source: str,
    columns: Sequence[str],
    roles: Mapping[str, Role],
    options: Mapping[str, Any],
) -> Project:
    given = (name, owner, source, list(columns), _roles_json(roles), orjson.dumps(options).decode())
    return _project(await connection.fetchrow(_sql.create, *given))


async def get(connection: Connection, project_id: int, *, for_update: bool = False) -> Project | None:
    row = await connection.fetchrow(_sql.get_for_update if for_update else _sql.get, project_id)
    return None if row is None else _project(row)


async def require(connection: Connection, project_id: int, *, for_update: bool = False) -> Project:
    project = await get(connection, project_id, for_update=for_update)
    if project is None:
        raise ProjectNotFound(project_id)
    return project


async def hold(connection: Connection, project_id: int, run: int | None) -> Project | None:
    """None: gone, deleted, cancelled, or in a later run. Whoever gets it may write until its transaction ends."""
    row = await connection.fetchrow(_sql.hold, project_id, run)
    return None if row is None else _project(row)


async def page(
    connection: Connection, *, owner: str | None, after: tuple[datetime, int] | None = None, limit: int = 50
) -> list[Project]:
    changed_at, last = after or (None, None)
    return [_project(row) for row in await connection.fetch(_sql.page, owner, changed_at, last, limit)]


async def running_of_source(connection: Connection, source: str) -> list[Project]:
    return [_project(row) for row in await connection.fetch(_sql.running_of_source, source)]


async def fetching_of_source(connection: Connection, source: str, fetches: str) -> list[tuple[int, int]]:
    """Id and run. ``fetches``: the pipeline that fetches."""
    return [(row["id"], row["run"]) for row in await connection.fetch(_sql.fetching_of_source, source, fetches)]


async def change(
    connection: Connection,
    project_id: int,
    *,
    name: str | None = None,
    roles: Mapping[str, Role] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Project:
    """Of one that is held for update."""
    given_roles = None if roles is None else _roles_json(roles)
    given_options = None if options is None else orjson.dumps(options).decode()
    return _project(await connection.fetchrow(_sql.change, project_id, name, given_roles, given_options))


async def begin_run(connection: Connection, project_id: int, *, types_key: str) -> int:
    run: int = await connection.fetchval(_sql.begin_run, project_id, types_key)
    return run


async def remember_job(connection: Connection, project_id: int, job_id: int, *, current: bool) -> None:
    await connection.execute(_sql.remember_job, project_id, job_id, current)


async def cancel_run(connection: Connection, project_id: int) -> bool:
    said: str = await connection.execute(_sql.cancel_run, project_id)
    return said != "UPDATE 0"


async def end_run(connection: Connection, project_id: int, run: int) -> bool:
    return await connection.fetchval(_sql.end_run, project_id, run) is not None


async def mark_deleted(connection: Connection, project_id: int) -> list[int]:
    """Its jobs."""
    row = await connection.fetchrow(_sql.mark_deleted, project_id)
    if row is None:
        raise ProjectNotFound(project_id)
    return list(row["jobs"])


async def deleted(connection: Connection, limit: int) -> dict[int, list[int]]:
    """Project → its jobs."""
    return {row["id"]: list(row["jobs"]) for row in await connection.fetch(_sql.deleted, limit)}


async def remove_records(connection: Connection, project_id: int, batch: int) -> int:
    said: str = await connection.execute(_sql.remove_records, project_id, batch)
    return int(said.rpartition(" ")[2])


async def remove(connection: Connection, project_id: int) -> None:
    await connection.execute(_sql.remove, project_id)


def _roles_json(roles: Mapping[str, Role]) -> str:
    return orjson.dumps({column: role.stored() for column, role in roles.items()}).decode()


def _project(row: Any) -> Project:
    roles = {column: Role(**role) for column, role in orjson.loads(row["roles"]).items()}
    options = orjson.loads(row["options"])
    return Project(**{**row, "columns": tuple(row["columns"]), "roles": roles, "options": options})
