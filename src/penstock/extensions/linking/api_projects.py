"""`/api/projects`: make projects out of datasets, read, change, match and delete them."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import orjson
from fastapi import APIRouter, Request, Response

from penstock.console.files.room import require_room
from penstock.console.http.actor import Actor, Operator, Viewer
from penstock.console.http.bodies import media_type, takes, validated
from penstock.console.http.ground import ground_of
from penstock.console.http.ownership import whose
from penstock.console.http.parameters import After, PageSize, UserId
from penstock.console.http.problems import Problem, documented
from penstock.extensions.linking import matching, progress, projects, saving
from penstock.extensions.linking.api_ground import look_at, note, parts, project_of
from penstock.extensions.linking.api_setup import FORM, uploaded
from penstock.extensions.linking.dataset import MOST_JSON_BYTES, Dataset, read_objects, read_path
from penstock.extensions.linking.matching import Reranked
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.sources.source import SourceMisconfigured
from penstock.extensions.linking.wire import (
    CancelledBody,
    ChangedProject,
    MatchBody,
    NewProject,
    NewProjectFields,
    NewProjectFile,
    ProjectDetail,
    ProjectId,
    ProjectPage,
    RerankBody,
    StartedBody,
    project_body,
    project_detail,
    stored_roles,
)

router = APIRouter(prefix="/api/projects", tags=["projects"], responses=documented(409))
_JSON_FIELDS = ("roles", "options")
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": FORM
    | {
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
    changed = await saving.change(
        parts(request),
        found.id,
        name=body.name,
        roles=stored_roles(body.roles),
        options=None if body.options is None else body.options.chosen(),
    )
    await note(request, actor, found, "change", fields=sorted(body.model_dump(exclude_none=True)))
    return await _detail(request, changed)


@router.delete("/{projectId}", operation_id="deleteProject", status_code=204)
async def delete(request: Request, actor: Operator, project_id: ProjectId) -> None:
    """With its records, candidates, decisions and tasks, also while it is being matched."""
    found = await project_of(request, actor, project_id)
    await saving.delete(parts(request), found.id, by=actor.name)
    await note(request, actor, found, "delete", name=found.name)


@router.post("/{projectId}/match", operation_id="matchProject", status_code=202, responses=documented(409, 429))
async def match(request: Request, actor: Operator, project_id: ProjectId, body: MatchBody | None = None) -> StartedBody:
    """One search per distinct name, in a job of its own. 409 while a run is under way, or where the source cannot be
    asked yet."""
    found = await project_of(request, actor, project_id)
    await require_room(ground_of(request).app, found.owner)
    scope = (body or MatchBody()).scope
    try:
        started = await matching.start(parts(request), found.id, scope, by=actor.name)
    except SourceMisconfigured as error:
        # Nobody's fault who calls: the sentence says what to set here.
        raise Problem(409, str(error)) from None
    await note(request, actor, found, "match", scope=scope, records=started.records)
    return StartedBody.model_validate(started)


@router.post("/{projectId}/cancel", operation_id="cancelProject")
async def cancel(request: Request, actor: Operator, project_id: ProjectId) -> CancelledBody:
    """Records that have not ended are CANCELLED; the next match takes them again. Without a run nothing happens."""
    found = await project_of(request, actor, project_id)
    count = await matching.cancel(parts(request), found.id, by=actor.name)
    await note(request, actor, found, "cancel", records=count)
    return CancelledBody(cancelled=count)


@router.post("/{projectId}/rerank", operation_id="rerankProject", status_code=202)
async def rerank(request: Request, actor: Operator, project_id: ProjectId, body: RerankBody | None = None) -> Reranked:
    """All that no person decided, scored again from what the source answered before. Asks the source nothing."""
    found = await project_of(request, actor, project_id)
    options = {} if body is None else body.model_dump(exclude_none=True)
    done = await matching.rerank(parts(request), found.id, by=actor.name, options=options or None)
    await note(request, actor, found, "rerank", records=done.records, options=options)
    return done


async def _detail(request: Request, project: Project) -> ProjectDetail:
    return project_detail(parts(request), project, await progress.read(parts(request), project.id))


async def _from_rows(request: Request, actor: Actor) -> Project:
    given = _object(await request.body(), "body")
    body: NewProject = validated(NewProject, given)
    dataset = await asyncio.to_thread(read_objects, body.rows)
    return await _made(request, actor, dataset, body)


async def _from_file(request: Request, actor: Actor) -> Project:
    async with uploaded(request) as (path, called, fields):
        body: NewProjectFile = validated(NewProjectFile, {"name": called.stem[:200] or "Dataset", **_typed(fields)})
        dataset = await asyncio.to_thread(read_path, path, called.name, safe=body.form == "safe")
        return await _made(request, actor, dataset, body)


async def _made(request: Request, actor: Actor, dataset: Dataset, body: NewProjectFields) -> Project:
    options = {} if body.options is None else body.options.chosen()
    return await saving.create(
        parts(request),
        dataset,
        name=body.name,
        owner=actor.name,
        source=body.source,
        roles=stored_roles(body.roles),
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
