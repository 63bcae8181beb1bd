"""What the commands of `penstock link` stand on: the parts of the application, who acts, and the audit log."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer

from penstock.control import acting
from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.events import Event
from penstock.extensions.linking import projects
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.stages import SEARCH
from penstock.terminal.session import Session

ProjectArgument = Annotated[
    int, typer.Argument(metavar="PROJECT", min=1, help="Its number, as `penstock link list` shows it.")
]


@asynccontextmanager
async def opened(session: Session) -> AsyncIterator[RecordLinking]:
    """Over the user's own application, or over all that ships with Penstock."""
    app = await session.serving_app()
    if SEARCH not in app.pipelines:
        raise UsageError(
            f"The application {app.name!r} has no record linking. Install it there with "
            "`app.install(penstock.extensions.linking.extension)`, or leave --app and PENSTOCK_APP out."
        )
    linking = RecordLinking(app)
    try:
        yield linking
    finally:
        await linking.close()


async def project_of(linking: RecordLinking, number: int) -> Project:
    """Whoever may use the database sees every project."""
    async with linking.app.connection() as connection:
        return await projects.require(connection, number)


async def noted(linking: RecordLinking, act: str, project: Project, **details: Any) -> None:
    """What is done here belongs into the audit log as what is done over HTTP does."""
    event = Event(f"projects.{act}", {"project": project.id, **details})
    await acting.note_events(linking.app, By.command_line(), [event])
