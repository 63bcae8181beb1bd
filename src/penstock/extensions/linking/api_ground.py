"""What the routes of projects stand on: one ``RecordLinking`` per process of the service, and who may see what."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

from penstock.console.http.actor import Actor
from penstock.console.http.ground import ground_of
from penstock.console.http.problems import not_found
from penstock.extensions.linking import projects
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.shared import RecordLinking

# Each takes a core while it is written; the next ones wait for their turn.
_XLSX_AT_ONCE = 2


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Inside the service's own, which has opened the application."""
    api.state.linking_xlsx_turns = asyncio.Semaphore(_XLSX_AT_ONCE)
    api.state.record_linking = linking = RecordLinking(api.state.ground.app)
    try:
        yield
    finally:
        await linking.close()


def parts(request: Request) -> RecordLinking:
    found: RecordLinking = request.app.state.record_linking
    return found


async def project_of(request: Request, actor: Actor, project_id: int) -> Project:
    """Somebody else's is not there, except for admins."""
    async with ground_of(request).app.connection() as connection:
        found = await projects.get(connection, project_id)
    if found is None or not (actor.is_admin or found.owner == actor.name):
        raise not_found(f"project {project_id}")
    return found


async def look_at(request: Request, actor: Actor, project_id: int) -> Project:
    """The same for reads: an admin's look at somebody else's project is noted."""
    found = await project_of(request, actor, project_id)
    if found.owner != actor.name:
        entry = actor.entry("project.look", kind="project", object=project_id, owner=found.owner)
        await ground_of(request).note_look(entry)
    return found


async def note(request: Request, actor: Actor, project: Project, act: str, **details: object) -> None:
    entry = actor.entry(f"project.{act}", kind="project", object=project.id, owner=project.owner, **details)
    await ground_of(request).note(entry)
