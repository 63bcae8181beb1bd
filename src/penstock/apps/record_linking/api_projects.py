"""`/api/projects`: make projects out of datasets, read, change and delete them."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import orjson
from fastapi import APIRouter, Request, Response

from penstock.apps.record_linking import changing, creating, progress, projects, removing
from penstock.apps.record_linking.api_ground import look_at, note, parts, project_of
from penstock.apps.record_linking.api_upload import uploaded
from penstock.apps.record_linking.dataset import Dataset
from penstock.apps.record_linking.project import Project
from penstock.apps.record_linking.reading import MOST_JSON_BYTES, read_objects, read_path
from penstock.apps.record_linking.shapes import progress_body, project_body
from penstock.apps.record_linking.wire import (
    ChangedProject,
    NewProject,
    NewProjectFields,
    NewProjectFile,
    ProjectDetail,
    ProjectId,
    ProjectPage,
)
from penstock.intake.room import require_room
from penstock.service.actor import Actor, Operator, Viewer
from penstock.service.bodies import media_type, takes, validated
from penstock.service.ground import ground_of
from penstock.service.ownership import whose
from penstock.service.parameters import After, PageSize, UserId
from penstock.service.problems import Problem, documented

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented(409))
_JSON_FIELDS = ("roles", "options")
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "CSV, XLSX, or a .json of rows."},
        "form": {"type": "string", "enum": ["exact", "safe"], "description": "CSV: `safe` undoes a safe export."},
        "name": {"type": "string", "maxLength": 200, "description": "Left out: that of the file."},
        "source": {"type": "string", "enum": ["wikidata", "reconciliation", "sample"]},
        "roles": {"type": "string", "description": 'JSON: {"Born": {"role": "property", "property": "P569"}}'},
        "options": {"type": "string", "description": 'JSON: {"languages": ["en"], "acceptScore": 0.9}'},
    },
}


def _request() -> dict[str, Any]:
    schema = NewProject.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    content = {"application/json": {"schema": schema}, "multipart/form-data": {"schema": _FORM}}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "",
    operation_id="createProject",
    status_code=201,
    openapi_extra=_request(),
    responses=documented(413, 415, 429),
)
@takes(
    json=lambda settings: min(MOST_JSON_BYTES, settings.max_upload_bytes),
    form=lambda settings: settings.max_upload_bytes,
)
async def create(request: Request, response: Response, actor: Operator) -> ProjectDetail:
    """A dataset as JSON rows, or as a file in a form. Stored as a whole or not at all; nothing is asked yet."""
    ground = ground_of(request)
    # Before the body is read.
    await require_room(ground.app, actor.name)
    kind = media_type(request.headers.get("content-type", ""))
    if kind == "multipart/form-data":
        project = await _from_file(request, actor)
    elif kind == "application/json":
        project = await _from_rows(request, actor)
    else:
        raise Problem(415, "Send the rows as application/json, or a file as multipart/form-data.")
    await note(request, actor, project, "create")
    response.headers["Location"] = f"/api/projects/{project.id}"
    return await _detail(request, project)


@router.get("", operation_id="listProjects")
async def list_projects(
    request: Request, actor: Viewer, page_size: PageSize = 50, after: After = None, user_id: UserId = "me"
) -> ProjectPage:
    """The newest change first."""
    ground = ground_of(request)
    owner = whose(actor, user_id)
    query = ("projects", user_id)
    place = None if after is None else tuple(ground.cursors.take(actor.name, query, after))
    async with ground.app.connection() as connection:
        found = await projects.page(
            connection, owner=owner, after=cast("tuple[datetime, int] | None", place), limit=page_size + 1
        )
    if owner is None:
        await ground.note_look(actor.entry("project.look_at_all", kind="project"))
    page = found[:page_size]
    last = page[-1] if len(found) > page_size else None
    return ProjectPage(
        items=[project_body(parts(request), one) for one in page],
        next_cursor=None if last is None else ground.cursors.give(actor.name, query, [last.updated_at, last.id]),
    )


@router.get("/{projectId}", operation_id="getProject")
async def get_project(request: Request, actor: Viewer, project_id: ProjectId) -> ProjectDetail:
    """With how far it is: exact counts, the pace, and what holds it up."""
    return await _detail(request, await look_at(request, actor, project_id))


@router.patch("/{projectId}", operation_id="changeProject")
async def change(request: Request, actor: Operator, project_id: ProjectId, body: ChangedProject) -> ProjectDetail:
    """Name, roles, options. Then `match` with the scope `changed`, or `rerank`, makes use of it."""
    found = await project_of(request, actor, project_id)
    changed = await changing.change(
        parts(request),
        found.id,
        name=body.name,
        roles=None if body.roles is None else {column: one.stored() for column, one in body.roles.items()},
        options=None if body.options is None else body.options.chosen(),
    )
    await note(request, actor, found, "change", fields=sorted(body.model_dump(exclude_none=True)))
    return await _detail(request, changed)


@router.delete("/{projectId}", operation_id="deleteProject", status_code=204)
async def delete(request: Request, actor: Operator, project_id: ProjectId) -> None:
    """With its records, candidates, decisions and tasks, also while it is being matched."""
    found = await project_of(request, actor, project_id)
    await removing.delete(parts(request), found.id, by=actor.name)
    await note(request, actor, found, "delete", name=found.name)


async def _detail(request: Request, project: Project) -> ProjectDetail:
    seen = await progress.read(parts(request), project.id)
    body = project_body(parts(request), project)
    return ProjectDetail(**body.model_dump(), progress=progress_body(seen))


async def _from_rows(request: Request, actor: Actor) -> Project:
    given = _object(await request.body(), "body")
    body: NewProject = validated(NewProject, given)
    dataset = await asyncio.to_thread(read_objects, body.rows)
    return await _made(request, actor, dataset, body)


async def _from_file(request: Request, actor: Actor) -> Project:
    async with uploaded(request) as upload:
        given = {"name": upload.called.stem[:200] or "Dataset", **_typed(upload.fields)}
        body: NewProjectFile = validated(NewProjectFile, given)
        dataset = await asyncio.to_thread(read_path, upload.path, upload.called.name, safe=body.form == "safe")
        return await _made(request, actor, dataset, body)


async def _made(request: Request, actor: Actor, dataset: Dataset, body: NewProjectFields) -> Project:
    options = {} if body.options is None else body.options.chosen()
    return await creating.create(
        parts(request),
        dataset,
        name=body.name,
        owner=actor.name,
        source=body.source,
        roles=None if body.roles is None else {column: one.stored() for column, one in body.roles.items()},
        options={name: value for name, value in options.items() if value is not None},
    )


def _typed(given: Mapping[str, Any]) -> dict[str, Any]:
    """A form has only text: two of its fields hold JSON."""
    return {name: _object(text.encode(), name) if name in _JSON_FIELDS else text for name, text in given.items()}


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        given = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Problem(422 if what != "body" else 400, f"{what}: it is not JSON ({error}).") from None
    if not isinstance(given, dict):
        raise Problem(422, f"{what}: it has to be an object.")
    return given
